// A copy into a part of a tensor, which the tape follows.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// part.copy_(source): `part` is a slice of `base`, of the source's sizes, or one place of its dimension `selected`.
/// The base's history is the copy from then on.
void copy_into_slice(const Tensor& base, const Tensor& part, const Tensor& source, int selected = -1);

}  // namespace vramfit::engine
