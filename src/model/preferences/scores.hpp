// Log-probabilities of completions by trl's fused head, as DPO and KTO ask for them.
#pragma once

#include "model/causal_lm/fused_head.hpp"

namespace vramfit::model {

/// The network's forward with the head that gives `parts`, under the trainer's autocast.
FusedOutput scored(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                   const Place& place);

/// ref_model_kwargs: of the reference no router logits are asked for, unless the model's config does.
FusedOutput scored_by_reference(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                                const Place& place);

/// input_ids.masked_fill(completion_mask == 0, -100).
Tensor labels_of_completions(const Tensor& input_ids, const Tensor& completion_mask);

/// outputs.x[:, -seq_len:].
Tensor last_places_of(const Tensor& t);

}  // namespace vramfit::model
