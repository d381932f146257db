// Table look-ups and their dense gradient.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// F.embedding(ids, weight): weight -- [V, H], ids -- any shape; result [..., H].
Tensor embedding(const Tensor& weight, const Tensor& ids);

}  // namespace vramfit::engine
