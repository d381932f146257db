// What is written into a view of a tensor, where the tape follows it.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// part.copy_(source): `part` is a view that slices and places cut out of `base`, of the source's sizes. The base's
/// history is the copy from then on. A part that was written into may be its own source.
void copy_into_slice(const Tensor& base, const Tensor& part, const Tensor& source);

/// part.add_(other): `part` is a view of `base` without overlaps. The base's history is the sum from then on, and the
/// view's is the base's.
void add_into_view(const Tensor& base, const Tensor& part, const Tensor& other);

}  // namespace vramfit::engine
