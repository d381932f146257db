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

/// Only whether a job fits, over all that is not known, and what it reserves: for those who try many.
struct Judgement {
    VerdictEnds ends;
    Levels peak;  ///< as in a prediction
    Device device;
    Assumptions assumptions;

    Verdict verdict() const { return ends.verdict(); }
    bool fits() const { return verdict() == Verdict::fits; }
    /// Usable bytes at the worst end that are left; negative: how many are missing.
    std::int64_t spare() const { return device.usable.count - at_worst(assumptions).count - peak.reserved; }
};

/// Throws what predict throws.
Judgement judge(const Job& job);
/// The same of a job whose program is known.
Judgement judge(const Program& program, const Job& job);

/// The windows of the same run.
Timeline timeline(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device);
Timeline timeline(const Job& job);

/// The program of the same run, after the plan was checked.
Program program_of(const Job& job);
/// The same as the job's card has it: Unsloth decides by what is free there. Of other loops there is one program.
Program program_on_card(const Job& job);

/// What a user should know about an answer to the question, from its files and flags, the card and the plan.
Notes notes_of(const Job& job);

}  // namespace vramfit
