// What can be changed about a run, in flags of this program.
#pragma once

#include <string>
#include <vector>

#include "vramfit/check/plan_changes.hpp"

namespace vramfit {

struct PlanStep {
    std::string title;
    std::vector<FlagValue> flags;
};

struct PlanKnob {
    std::string id;
    std::vector<PlanStep> steps;  ///< from the mildest to the one that needs the least
};

/// What the job has not done yet, in order of price: what only costs time comes first, what trains something else last.
std::vector<PlanKnob> plan_knobs(const Job& job);

}  // namespace vramfit
