// The questions of a sweep from its flags: axes and lists.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/plan_flags.hpp"
#include "vramfit/report/format.hpp"

namespace vramfit::cli {

/// The axes of a sweep, for PlanFlags::add.
std::span<const PlanAxis> sweep_axes();

/// Values that move together: one of the alternatives holds at a time.
using Together = std::vector<Chosen>;

/// What the questions follow from.
struct SweepAsked {
    std::vector<PlanChoice> choices;
    std::vector<Together> together;
    Chosen fixed;                             ///< values of a file that all questions share
    std::map<std::string, std::string> axes;  ///< of a file: "rank": "8,16"
    bool widen = true;                        ///< axes that are not given go on while anything fits
};

/// Fills the questions of the report with what tells them apart. `notes` are those of the stacks.
void ask(const PlanFlags& flags, const SweepAsked& asked, SweepReport& report, Notes& notes);

}  // namespace vramfit::cli
