// What vLLM has generated and scored: the trainer corrects its loss for the distance to its own scores.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// What corrects for the distance between vLLM's log-probabilities and the trainer's: variables that
/// _generate_and_score_completions holds until it returns.
struct SamplingCorrection {
    Tensor difference, of_rows, ratio, invalid, mask;
    Tensor mean_difference, most_difference, picked, least, mean, most;
};

/// vllm_importance_sampling_ratio of completions that vLLM and the policy have scored.
void correct_for_sampling(const Run& run, const Tensor& policy, const Tensor& sampled, const Tensor& mask,
                          SamplingCorrection& out);

/// The metrics sampling/..., `count` tokens of completions being no padding.
void log_correction(const Run& run, const Tensor& policy, const Tensor& sampled, const Tensor& mask, const Size& count,
                    SamplingCorrection& held);

}  // namespace vramfit::model
