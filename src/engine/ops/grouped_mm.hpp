// Products of groups of rows with a matrix each.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// torch.nn.functional.grouped_mm(input, weight, offs): input -- [S, K], weight -- [E, K, N] (possibly a transposed
/// view), offs -- [E] int32: where each group of rows ends. Result [S, N]. Throws Error (invalid) where rows are no
/// multiple of 16 bytes. How many rows a group has changes no allocation.
Tensor grouped_mm(const Tensor& input, const Tensor& weight, const Tensor& offs);

/// transformers::grouped_mm_fallback, for cards below capability 8.0: the gradients of both are always made.
Tensor grouped_mm_fallback(const Tensor& input, const Tensor& weight, const Tensor& offs);

}  // namespace vramfit::engine
