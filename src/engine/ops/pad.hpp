// Constant padding with a gradient.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// F.pad(t, (0, places)): places more at the end of the last dimension.
Tensor pad_end(const Tensor& t, Size places);
/// F.pad(t, (0, 0, ..., 0, places)): at the end of that dimension, perhaps none.
Tensor pad_end_of(const Tensor& t, int dim, Size places);
/// In front of it.
Tensor pad_front_of(const Tensor& t, int dim, Size places);
/// F.pad(t, (0, 0, n, -n)): places in front of a dimension of a dense tensor, as many fewer at its end.
Tensor pad_shifted(const Tensor& t);

}  // namespace vramfit::engine
