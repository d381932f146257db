// Views, and the operators that are a view when strides allow it and a copy when they do not.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// Tensor.view: throws std::logic_error where PyTorch would refuse.
Tensor view(const Tensor& t, const Dims& sizes);
/// Tensor.reshape: a view if the strides allow one, else a contiguous copy.
Tensor reshape(const Tensor& t, const Dims& sizes);
/// aten::_unsafe_view: shares the storage, but autograd does not know a base.
Tensor unsafe_view(const Tensor& t, const Dims& sizes);
Tensor transpose(const Tensor& t, int a, int b);
/// Tensor.t() of a matrix.
Tensor transpose2d(const Tensor& t);
Tensor unsqueeze(const Tensor& t, int dim);
Tensor expand(const Tensor& t, const Dims& sizes);
/// t[..., begin:end, ...] along `dim`, a slice node even if nothing is cut.
Tensor slice(const Tensor& t, int dim, Size begin, Size end);
/// t[..., begin::step] along the last dimension.
Tensor slice_step(const Tensor& t, Size begin, Size step);
/// t.chunk(2, dim=-1).
std::pair<Tensor, Tensor> halves(const Tensor& t);
/// A literal `:` in a subscript with several parts: nothing is cut, but older releases make a slice node.
Tensor whole(const Tensor& t, int dim);
/// t.select(dim, index).
Tensor select(const Tensor& t, int dim);
/// torch.cat of tensors of one dtype.
Tensor cat(std::span<const Tensor> tensors, int dim);

}  // namespace vramfit::engine
