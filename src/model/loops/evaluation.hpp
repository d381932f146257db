// Evaluation in the course of training, as transformers.Trainer does it: the losses of all batches, and of process
// reward models their logits.
#pragma once

#include "model/loops/trainer_parts.hpp"

namespace vramfit::model {

/// eval_on_start: before the first step.
void evaluate_on_start(Trainer& trainer);

/// _maybe_log_save_evaluate behind an update, counted from 0, if an evaluation is due then.
void evaluate_after(Trainer& trainer, std::int32_t step);

}  // namespace vramfit::model
