// Log-probabilities of completions as DPO and KTO ask for them: by trl's fused head, or from whole logits before it.
#pragma once

#include "model/causal_lm/fused_head.hpp"
#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// What one call of the model gives, as long as its variables hold it.
struct Scored {
    FusedOutput fused;    ///< of the fused head, or undefined
    Output whole;         ///< of the model without it, or undefined
    Tensor shift_logits;  ///< whole.logits[:, :-1]

    const Tensor& aux_loss() const { return fused.aux_loss.defined() ? fused.aux_loss : whole.aux_loss; }
};

/// The network's forward under the trainer's autocast; the fused head gives `parts`.
Scored scored(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts, const Place& place);

/// ref_model_kwargs: of the reference no router logits are asked for, unless the model's config does.
Scored scored_by_reference(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                           const Place& place);

/// The batch as the model is given it: the fused head takes input_ids.masked_fill(completion_mask == 0, -100) as
/// labels.
Batch with_labels(const Run& run, const Batch& batch);

/// Per token, [R, S - 1].
Tensor token_log_probs(const Batch& batch, Scored& outputs);

/// Entropy of each token, no tape.
Tensor token_entropy(const Scored& outputs);

/// input_ids[:, 1:] and completion_mask[:, 1:].
Tensor shifted(const Tensor& t);

/// outputs.x[:, -seq_len:].
Tensor last_places_of(const Tensor& t);

}  // namespace vramfit::model
