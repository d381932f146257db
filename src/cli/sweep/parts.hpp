// Parts of a sweep as files: what --shard adds to its JSON, and how --merge reads it.
#pragma once

#include <string>
#include <vector>

#include "vramfit/report/format.hpp"

namespace vramfit::cli {

/// One part, as its file says.
struct SweepPart {
    std::string file;
    SweepShard shard;
    std::vector<std::string> arguments;
    std::string version;  ///< of the program
    std::size_t total = 0;
    SweepResult result;                                         ///< rows that the file does not tell of are open
    std::vector<std::pair<std::size_t, std::string>> commands;  ///< of rows, by their numbers
};

/// Reads the JSON of a part strictly as far as it is needed. Throws Error with everything that is wrong.
SweepPart read_part(const std::string& path);

/// Throws Error (invalid) unless these are all parts of one sweep by this program.
void check_parts(const std::vector<SweepPart>& parts);

/// Fits the parts to the questions of their arguments. Throws Error (invalid) if those have become others.
std::vector<SweepResult> results_of(std::vector<SweepPart> parts, const SweepReport& report);

}  // namespace vramfit::cli
