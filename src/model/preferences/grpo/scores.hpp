// Log-probabilities and entropies of completions' tokens.
#pragma once

#include "model/causal_lm/forward_wrapper.hpp"
#include "model/causal_lm/fused_head.hpp"

namespace vramfit::model {

/// Zeros of the mask of prompts that are generated together, and of the rows of a batch.
Missing missing_of_prompts(const Run& run);
Missing missing_of_rows(const Run& run);

struct CompletionScores {
    Tensor log_probs, entropies;  ///< [B, N]
};

/// Completions with what is before them, [B, S] int64 each.
struct ScoredRows {
    Tensor ids, mask;
    Size completion;  ///< tokens at the end that are scored
};

/// Prompts and completions, [B, P] and [B, N] each, put together.
ScoredRows whole_rows(const Tensor& prompt_ids, const Tensor& completion_ids, const Tensor& prompt_mask,
                      const Tensor& completion_mask);

/// The rows of one batch of training among them, in place of those before.
void take_rows(const Run& run, const ScoredRows& rows, std::int64_t chunk, Batch& inputs);

/// The policy's head gives entropies, asked for or not; the one of a reference of its own does not.
inline constexpr ScoreParts kPolicyParts = {.entropy = true};

/// _get_per_token_logps_and_entropies, as many rows at a time as a batch of training has. With gradients it gives
/// entropies too, and opens the window of the loss behind the forward pass.
CompletionScores completion_scores(const Run& run, const Network& network, const ScoredRows& rows,
                                   const ScoreParts& parts, const Place& place, const ForwardWrapper& wrapper = {});

}  // namespace vramfit::model
