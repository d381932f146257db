// Sweep files, schema vramfit.space/1: what the flags of a sweep say, as JSON, and values that move together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/sweep/questions.hpp"

namespace vramfit::cli {

struct SpaceFile {
    SweepAsked asked;                           ///< lists and groups
    std::map<std::string, std::string> bounds;  ///< "min-rank": "8"
};

/// Reads a sweep file strictly: every key is a flag of a plan, of a bound, or "together". Throws one Error with
/// everything that is wrong. A key that is also given as a flag is an error.
SpaceFile read_space(const std::string& path, PlanFlags& flags);

}  // namespace vramfit::cli
