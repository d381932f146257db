// The order of a pipeline's steps: torch 2.11 distributed/pipelining/schedules.py.
#pragma once

#include "model/parallel/pipeline/stage.hpp"

namespace vramfit::model {

/// One call of schedule.step().
struct PipelineStep {
    const Run& run;
    std::vector<PipelineStage>& stages;  ///< of this process
    const Batch& batch;                  ///< of all micro batches
    std::int32_t number = 0;
    std::vector<Tensor>& losses;  ///< the caller's container
};

/// Runs one step; returns what the last stage returns: the outputs of all micro batches as one tensor.
Tensor run_schedule(const PipelineStep& step);

}  // namespace vramfit::model
