// Softmax and log-softmax over the last dimension.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// F.softmax(t, dim=-1, dtype=float32) and F.log_softmax(t, dim=-1, dtype=float32) if `to_float32`;
/// without it the result has t's dtype, or float32 under autocast.
Tensor softmax(const Tensor& t, bool to_float32);
Tensor log_softmax(const Tensor& t, bool to_float32);

/// at::_safe_softmax(t, dim=-1).
Tensor safe_softmax(const Tensor& t);

/// F.softmax(t, dim=-1, dtype=t.dtype), F.log_softmax(t, dim=-1, dtype=t.dtype): autocast does not change them.
Tensor softmax_in_own_dtype(const Tensor& t);
Tensor log_softmax_in_own_dtype(const Tensor& t);

}  // namespace vramfit::engine
