// Job files, schema vramfit.job/1: one run as a JSON object whose keys are the libraries' own argument names.
#pragma once

#include <string>
#include <string_view>

#include "vramfit/base/note.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

inline constexpr std::string_view kJobSchema = "vramfit.job/1";

/// One question: a network, what is done with it, with which libraries, on which card.
struct Job {
    ModelSpec model;
    TrainPlan plan;
    Stack stack;
    Device device;
    Notes notes;  ///< of the stack; the device has its own
};

/// Reads a job file. `file` names it in errors. Throws one Error with everything that is wrong: unknown keys, wrong
/// types and values (invalid), and what is known but cannot be predicted (unsupported). Whether the plan fits the
/// model is another question: check_plan.
Job read_job(std::string_view text, std::string_view file, const Environment& environment);

/// The job as a file that reads back as the same job.
std::string to_json_text(const Job& job);

/// The plan alone: the keys name, load, prepare_kbit, peft, trl, training, batch and loop.
std::string to_json_text(const TrainPlan& plan);

}  // namespace vramfit
