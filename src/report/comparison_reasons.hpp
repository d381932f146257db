// What differences between a run and its prediction suggest, as sentences.
#pragma once

#include <string>
#include <vector>

#include "vramfit/report/format.hpp"

namespace vramfit::report {

std::vector<std::string> reasons_of(const ComparisonReport& report);
std::vector<std::string> reasons_of(const OomReport& report);

}  // namespace vramfit::report
