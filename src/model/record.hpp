// From a question to its program: runs the libraries' steps on tensors without contents.
#pragma once

#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/trace/program.hpp"
#include "vramfit/trace/summary.hpp"

namespace vramfit::model {

/// Records load, preparation, adapters and training. The device's capability and multiprocessors decide about
/// kernels, its capacity does not matter here. Throws Error (invalid or unsupported).
Program record(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device);

/// The same run, of which only the highest moments are kept: several times faster.
Summary summarize(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device);

}  // namespace vramfit::model
