// A recorded network's variants as a table: vramfit models NETWORK.json.
#pragma once

#include <optional>
#include <string>

#include "vramfit/report/table.hpp"

namespace vramfit::cli {

/// The variants of the recording in this file; nothing where it is no file, or no recording.
std::optional<ReportTable> recording_table(const std::string& file);

}  // namespace vramfit::cli
