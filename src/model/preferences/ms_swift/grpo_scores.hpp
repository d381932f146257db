// Log-probabilities of completions' tokens in ms-swift's GRPO.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// Rows of one batch of training, prompts and completions together: what the model and the loss are given.
struct SwiftGroup {
    Tensor ids, mask;             ///< model_inputs -- [B, S] int64
    Tensor completion_mask;       ///< [B, N] bool
    Tensor lengths, truncated;    ///< seq_lengths, truncated_mask -- [B]
    Tensor log_probs, reference;  ///< of the policy that has generated, and of the reference, if there is one -- [B, N]
    Tensor advantages;            ///< [B, N]
    Tensor num_items;             ///< of all batches of the generation, 0-dim
};

/// logits_to_keep: tokens from the end of the shortest prompt of a batch on.
Size kept_of_group(const Run& run);

/// _get_per_token_logps_and_entropies: [B, N], from whole logits of the tokens that are kept, which are divided in
/// place. With gradients it opens the window of the loss behind the forward pass.
Tensor swift_group_scores(const Run& run, const Network& network, const SwiftGroup& rows, const Place& place);

}  // namespace vramfit::model
