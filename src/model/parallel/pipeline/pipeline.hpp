// Pipeline parallelism: a process has some of the layers, and micro batches pass through all processes.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// Whether the network is cut into stages.
bool is_pipeline(const TrainPlan& plan);

/// A plain loop over torch.distributed.pipelining, in the process that the plan is about.
void run_pipeline(const Run& run, Network& network);

}  // namespace vramfit::model
