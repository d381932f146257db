// Looks for what to change in the flags of a run that does not fit, and for the largest run that does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "vramfit/predict/plan_changes.hpp"
#include "vramfit/predict/prediction.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit {

/// Values of flags by their names without hyphens: "batch" -> "2".
using FlagValues = std::map<std::string, std::string>;

/// The question with other values of flags, as if they had been given in place of those that were. Throws Error for
/// what cannot be.
using JobWith = std::function<Job(const FlagValues&)>;

/// For a job whose card is known and too small. `with({})` is the job.
PlanChanges plan_changes(const Job& job, const JobWith& with, std::size_t most = 3);

/// For a job without a card: the smallest known GPU that surely holds it; empty: none. `need` is what it reserves.
std::string smallest_gpu(const Job& job, std::int64_t need);

/// For a job whose card is known. Lengths are looked at in steps of 128 tokens.
LargestFit largest_fit(const Job& job);

/// predict_with_next_larger, and where the run fits its card the largest fit too, from the same recordings.
Prediction predict_with_largest_fit(const Job& job);

}  // namespace vramfit
