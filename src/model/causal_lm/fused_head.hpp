// trl's fused head: a forward pass that gives the log-probabilities of the labels and no logits.
#pragma once

#include <vector>

#include "model/causal_lm/causal_lm.hpp"
#include "model/losses/chunked_log_prob.hpp"

namespace vramfit::model {

/// FusedCausalLMOutput, [B, S - 1] each; [B, S] of labels that are shifted already. What was not asked for is
/// undefined.
struct FusedOutput {
    Tensor loss;
    Tensor log_probs;
    Tensor entropy;
    Tensor mean_logits;
    Tensor is_top1;
    Tensor label_mask;
    Tensor aux_loss;

    std::vector<Tensor*> all();
};

/// trl 1.16 trainer/utils.py add_fused_lm_head: _fused_forward of a batch with labels, of which `labelled` are no -100.
FusedOutput fused_forward(const Run& run, const Network& network, const Batch& batch, const Size& labelled,
                          const ScoreParts& parts, const Place& place);

/// Whether the run's trainer scores with it.
bool scores_in_chunks(const Run& run);

}  // namespace vramfit::model
