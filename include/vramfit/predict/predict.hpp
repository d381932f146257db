// The library's front door.
#pragma once

#include "vramfit/predict/prediction.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// Records the run, replays it under the device's usable capacity and names the peaks. Pure: equal arguments give
/// equal answers. Throws Error (invalid, unsupported).
Prediction predict(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device);

/// The same; the job's own notes come first.
Prediction predict(const Job& job);

/// The same; where it fits, with the same run of a row more and that of longer rows on the job's card. What is not
/// supported is left out.
Prediction predict_with_next_larger(const Job& job);

/// The windows of the same run.
Timeline timeline(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device);
Timeline timeline(const Job& job);

/// The program of the same run, after the plan was checked.
Program program_of(const Job& job);

/// What a user should know about an answer to the question, from its files and flags, the card and the plan.
Notes notes_of(const Job& job);

}  // namespace vramfit
