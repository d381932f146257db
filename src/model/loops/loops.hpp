// The training loops.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// transformers.Trainer: construction and train().
void run_trainer(const Run& run, Network& network);

/// The plain loop of the job file's `loop.kind`.
void run_plain(const Run& run, Network& network);

}  // namespace vramfit::model
