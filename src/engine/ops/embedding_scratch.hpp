// The gradient of a look-up with more than 3072 ids.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// The dense gradient [V, H] in the gradient's dtype, with the sort's and the segments' scratch: of no bytes where
/// `sorts` is 0. `dtype`: of the ids, 64 or 32 bits.
Tensor sorted_embedding_backward(Session& session, const Tensor& grad, Size ids, const Dims& weight_sizes,
                                 Size sorts = 1, DType dtype = DType::int64);

}  // namespace vramfit::engine
