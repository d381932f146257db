// A prediction whose program comes from elsewhere.
#pragma once

#include <functional>

#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// Gives the program of a question whose plan has been checked.
using Record = std::function<Program(const ModelSpec&, const TrainPlan&, const Stack&, const Device&)>;

/// Checks the plan, replays what `record` gives under the device's usable capacity and names the peaks.
Prediction predict_recorded(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device,
                            const Record& record);

/// What of it is judged alone; the plan is checked.
Judgement judge_recorded(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device,
                         const Record& record);

/// For a job whose card is known: what predict_with_next_larger gives, with the programs that `record` gives.
Prediction predict_with_next_larger(const Job& job, const Record& record);

}  // namespace vramfit
