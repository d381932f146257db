// Table look-ups and their dense gradient.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// F.embedding(ids, weight): weight -- [V, H], ids -- any shape; result [..., H].
Tensor embedding(const Tensor& weight, const Tensor& ids);

/// aten::embedding_dense_backward: [V, H] of the sizes that are given, from grad -- [..., H], contiguous.
Tensor embedding_gradient(const Tensor& grad, const Tensor& ids, const Dims& weight_sizes);

}  // namespace vramfit::engine
