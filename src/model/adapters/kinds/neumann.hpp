// The Neumann series of Cayley's transform, which turns skew-symmetric matrices into rotations (OFT, PSOFT).
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::model {

using engine::Tensor;

/// matrix[..., rows, columns] = vector of zeros, minus its transpose: vector -- [N] or [B, N], matrix -- [.., n, n].
Tensor skew_symmetric(const Tensor& vector, const engine::Dims& matrix, const Tensor& rows, const Tensor& columns,
                      bool in_place);

/// I + 2 Q + 2 Q^2 + ... + Q^(terms - 1), added to `sum`, which is I. Returns the last power.
Tensor add_neumann_series(const Tensor& sum, const Tensor& skew, std::int64_t terms,
                          Tensor (*product)(const Tensor& a, const Tensor& b));

}  // namespace vramfit::model
