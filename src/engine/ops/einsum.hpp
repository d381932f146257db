// torch.einsum of one or two tensors.
#pragma once

#include <string_view>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// Whether an equation is one that is known here: so many operands of one to eight letters each, none of them twice in
/// an operand, and its result written behind `->`.
bool is_known_einsum(std::string_view equation, int operands);
/// einsum(equation, a); nothing is summed.
Tensor einsum(std::string_view equation, const Tensor& a);
/// einsum(equation, a, b): both are brought into one order of dimensions, then multiplied as batches of matrices.
Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b);

}  // namespace vramfit::engine
