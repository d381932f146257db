// Overflow checks and gradient norms: deepspeed 0.19.8 runtime/utils.py, runtime/zero/stage_1_and_2.py.
#pragma once

#include <span>

#include "engine/tensor.hpp"

namespace vramfit::model {

using engine::Tensor;

/// torch.isfinite.
Tensor is_finite(const Tensor& t);

/// utils.has_inf_or_nan: a scalar on the card.
Tensor has_inf_or_nan(const Tensor& t);

/// has_overflow_partitioned_grads_serial and has_overflow.
void check_overflow(engine::Session& session, std::span<const Tensor> gradients);

/// One gradient's norm in float64.
Tensor double_norm(const Tensor& gradient);

/// get_grad_norm_direct: the rank's part, then all ranks'.
Tensor grad_norm(engine::Session& session, std::span<const Tensor> gradients);

/// mask_nan_or_inf_with_val_inplace.
void mask_invalid(const Tensor& norm);

/// combine_grad_norm_groups.
Tensor combine_norms(engine::Session& session, std::span<const Tensor> norms);

/// get_grad_norm_direct of 0.14: inf_or_nan * err + inf_or_nan.logical_not() * total_norm.
Tensor masked_sum(const Tensor& invalid, const Tensor& instead, const Tensor& norm);

/// DeepSpeedZeroOptimizer._has_inf_or_nan of 0.14.
Tensor has_inf_or_nan_in_float32(const Tensor& t);

/// DeepSpeedEngine.backward of 0.14: loss.mean().detach().
Tensor mean_of_loss(const Tensor& loss);

/// is_invalid_grad_norm: the host waits for the answer.
void look_at_norm(const Tensor& norm);

/// unscale_and_clip_grads: the factor; the gradient is scaled in place.
void clip_factor(const Tensor& norm);
/// The same in stage 3, which looks at the norm before.
void scale_to_clip(const Tensor& norm);

}  // namespace vramfit::model
