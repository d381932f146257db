// Elementwise functions of one tensor that are not in every network.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

Tensor exp(const Tensor& t);
Tensor expm1(const Tensor& t);
Tensor log(const Tensor& t);
Tensor log1p(const Tensor& t);
Tensor softplus(const Tensor& t);
Tensor log_sigmoid(const Tensor& t);
Tensor sqrt(const Tensor& t);
Tensor abs(const Tensor& t);
/// A number divided by it: t.reciprocal() * number.
Tensor reciprocal_of(const Tensor& t);
/// A number less it: torch.rsub(t, number).
Tensor subtracted_from_number(const Tensor& t);

}  // namespace vramfit::engine
