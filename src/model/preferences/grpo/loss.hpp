// The loss of trl's GRPOTrainer, and what ms-swift's is made of as well.
#pragma once

#include "model/causal_lm/forward_wrapper.hpp"
#include "model/preferences/grpo/rollout.hpp"

namespace vramfit::model {

/// t.clamp(min=1.0): the number promotes a count.
Tensor at_least_one(const Tensor& t);
/// (t * mask).sum().
Tensor sum_of_masked(const Tensor& t, const Tensor& mask);
/// (t * mask).sum(-1) / mask.sum(-1).clamp(min=1.0) on the tape.
Tensor masked_means(const Tensor& t, const Tensor& mask);
/// Ratios and advantages that are both above, or both below.
Tensor clipped_by(engine::Op op, const Tensor& ratio, const Tensor& advantages);
/// -weights * advantages * per_token_logps, of CISPO and VESPO.
Tensor weighted_log_probs(const Tensor& weights, const Tensor& advantages, const Tensor& log_probs);

/// GRPOTrainer._compute_loss with its metrics.
Tensor grpo_loss(const Run& run, const Network& network, const Rollout& inputs, const Place& place,
                 const ForwardWrapper& wrapper);

}  // namespace vramfit::model
