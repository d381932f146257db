// Process reward models: networks that say of each token whether its step is right.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// PretrainedConfig's own num_labels, which examples of trl give too.
constexpr std::int64_t kStepLabels = 2;

/// Whether trl's PRMTrainer trains it, which is Trainer with rows, adapters and dropout of its own.
bool rewards_steps(const TrainPlan& plan);

/// What it and AutoModelForTokenClassification make of the plan.
void prepare_process_reward(TrainPlan& plan);

/// A batch of DataCollatorForTokenClassification.
Batch fetch_steps(const Run& run);

}  // namespace vramfit::model
