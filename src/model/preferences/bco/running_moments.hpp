// Mean and deviation of all rewards so far.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::model {

/// RunningMoments.update on one process: numbers of the device, which the host reads.
void update_running_moments(const engine::Tensor& rewards);

}  // namespace vramfit::model
