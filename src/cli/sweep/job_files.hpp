// The job files of a sweep's rows.
#pragma once

#include <string>

#include "vramfit/report/format.hpp"

namespace vramfit::cli {

/// Writes FOLDER/row-NUMBER.json for every row that is shown. Throws Error (invalid) if it cannot.
void write_jobs(const SweepReport& report, const std::string& folder);

}  // namespace vramfit::cli
