// Every document in every format, as functions from results to text.
#pragma once

#include <string>

#include "vramfit/report/format.hpp"

namespace vramfit::report {

std::string prediction_json(const Prediction& prediction, const Layout& layout);
std::string prediction_text(const Prediction& prediction, const Layout& layout);
std::string timeline_json(const TimelineReport& report, const Layout& layout);
std::string timeline_text(const TimelineReport& report, const Layout& layout);
std::string table_json(const ReportTable& table, const Layout& layout);
std::string table_text(const ReportTable& table, const Layout& layout);

}  // namespace vramfit::report
