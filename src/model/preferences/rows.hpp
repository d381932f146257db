// The rows of preference training: what its trainer makes of the plan, and how many of their tokens are scored.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// The plan and the network's description as the trainer runs them: no dropout, the collator's mask, and the head of a
/// reward model.
TrainPlan plan_of_preferences(const TrainPlan& plan);
ModelSpec spec_of_preferences(const ModelSpec& spec, const TrainPlan& plan);

/// A reward model with a head of one number in place of the language model's: trl's.
bool has_score(const TrainPlan& plan);

/// Whether the trainer's constructor maps the data set, for which trl's processes wait.
bool waits_for_rows(const TrainPlan& plan);

/// Pairs of rows; the batch has chosen ones and then rejected ones.
inline Size pairs_of(const Run& run) { return run.sizes.batch / 2; }

/// Tokens of all completions in a batch.
Size scored_tokens(const Run& run);
/// Of the chosen ones.
Size chosen_tokens(const Run& run);

/// A copy of a tensor of the batch on the device.
Tensor moved(const Run& run, const engine::Dims& sizes, DType dtype);

/// Whether a batch has the key "labels"; of ms-swift's KTO they are "completion_labels".
bool has_labels(const TrainPlan& plan);

/// A micro batch on the device, as trl's collator makes it. With `references` it brings their log-probabilities.
Batch fetch_preferences(const Run& run, bool references);

}  // namespace vramfit::model
