// Means, variances and whitening of what a mask leaves.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// masked_mean(values, mask), on the tape.
Tensor masked_mean(const Tensor& values, const Tensor& mask);

/// masked_whiten(values, ~padding).
Tensor masked_whiten(const Tensor& values, const Tensor& padding, bool shift_mean);

/// first_true_indices(bools): [B] int64 of [B, S]. The argument is let go of at the end.
Tensor first_true_indices(Tensor bools);

}  // namespace vramfit::model
