// vLLM in the trainer's process, which generates in place of transformers: what the trainer itself allocates for it.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// VLLMGeneration.sync_weights: the engine copies the weights into its own; adapters are merged before and unmerged
/// behind.
void sync_weights(Network& network);

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
