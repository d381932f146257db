// The training loops.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// transformers.Trainer: construction and train(). `loaded`: a reference that was loaded before the network.
void run_trainer(const Run& run, Network& network, Reference loaded = {});

/// trl's PPOTrainer: construction and train().
void run_ppo(const Run& run, Network& network);

/// The plain loop of the job file's `loop.kind`.
void run_plain(const Run& run, Network& network);

}  // namespace vramfit::model
