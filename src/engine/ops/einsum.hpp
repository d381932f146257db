// torch.einsum of one or two tensors.
#pragma once

#include <span>
#include <string_view>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// Whether an equation is one that is known here: one or two operands with a letter for each of their dimensions, none
/// of them twice in an operand, and the result written behind `->`.
bool is_known_einsum(std::string_view equation, std::span<const int> dimensions);
/// einsum(equation, a); nothing is summed.
Tensor einsum(std::string_view equation, const Tensor& a);
/// einsum(equation, a, b): both are brought into one order of dimensions, then multiplied as batches of matrices.
Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b);

}  // namespace vramfit::engine
