// Operators that change a tensor in place and stand on the tape: the tensor's history is the operator from then on.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// a.add_(b).
void add_in_place(const Tensor& a, const Tensor& b);
/// a.add_(number).
void add_in_place(const Tensor& a);
/// a.mul_(b); a copy of `a` is kept where b requires grad. Without it `a` may be another shape of the whole of a
/// tensor.
void mul_in_place(const Tensor& a, const Tensor& b);
/// a /= b; a copy of `a` is kept where b requires grad.
void div_in_place(const Tensor& a, const Tensor& b);
/// part = a[.., first:last, ..]; part.div_(number). Gives the part.
Tensor div_slice_in_place(const Tensor& a, int dim, const Size& first, const Size& last);
/// a.masked_fill_(mask, number).
void masked_fill_in_place(const Tensor& a, const Tensor& mask);
/// view = t.squeeze(-1); view[mask] = number. Gives the view.
Tensor fill_squeezed(const Tensor& t, const Tensor& mask);

}  // namespace vramfit::engine
