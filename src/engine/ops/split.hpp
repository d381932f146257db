// Cutting a tensor into parts along a dimension.
#pragma once

#include <array>
#include <vector>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// t.chunk(parts, dim) and t.split(size, dim) into equal parts: views with one common node.
std::vector<Tensor> chunk(const Tensor& t, int parts, int dim);

/// t.split(sizes, dim): views with one common node.
std::vector<Tensor> split_with_sizes(const Tensor& t, const std::vector<Size>& sizes, int dim = 0);

/// t.unbind(0), as a loop over a tensor takes it: views with one common node.
std::vector<Tensor> unbind(const Tensor& t);

/// t[..., begin:end]: a slice, or an alias with a node of its own where nothing is cut.
Tensor last_places(const Tensor& t, Size begin, Size end);

}  // namespace vramfit::engine
