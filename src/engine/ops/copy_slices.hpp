// A copy into a part of a tensor, which the tape follows.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// part.copy_(source): `part` is a view that slices and places cut out of `base`, of the source's sizes. The base's
/// history is the copy from then on.
void copy_into_slice(const Tensor& base, const Tensor& part, const Tensor& source);

}  // namespace vramfit::engine
