// Every document in every format, as functions from results to text.
#pragma once

#include <string>
#include <vector>

#include "vramfit/report/format.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::report {

std::string prediction_json(const Prediction& prediction, const Layout& layout);
std::string prediction_text(const Prediction& prediction, const Layout& layout);
std::string timeline_json(const TimelineReport& report, const Layout& layout);
std::string timeline_text(const TimelineReport& report, const Layout& layout);
std::string timeline_html(const TimelineReport& report, const Layout& layout);
std::string timeline_svg(const TimelineReport& report, const Layout& layout);
std::string timeline_snapshot(const TimelineReport& report, const Layout& layout);
std::string prediction_html(const PredictionPage& page, const Layout& layout);
std::string sweep_html(const SweepReport& report, const Layout& layout);
std::string sweep_json(const SweepReport& report, const Layout& layout);
std::string sweep_text(const SweepReport& report, const Layout& layout);
std::string sweep_csv(const SweepReport& report, const Layout& layout);
std::string sweep_svg(const SweepReport& report, const Layout& layout);
std::string sweep_markdown(const SweepReport& report, const Layout& layout);
/// The command that asks for one row of a sweep alone: flags with their values.
std::vector<std::string> command_of(const SweepReport& report, const SweepRow& row);
/// "bisection", "scan" or "end of range".
const char* found_by(LargestHow how);
std::string check_json(const CheckReports& reports, const Layout& layout);
std::string check_text(const CheckReports& reports, const Layout& layout);
std::string check_github(const CheckReports& reports, const Layout& layout);
std::string check_junit(const CheckReports& reports, const Layout& layout);
std::string formulas_json(const FormulaReport& report, const Layout& layout);
std::string formulas_text(const FormulaReport& report, const Layout& layout);
std::string methods_json(const MethodsReports& reports, const Layout& layout);
std::string methods_text(const MethodsReports& reports, const Layout& layout);
std::string comparison_json(const ComparisonReport& report, const Layout& layout);
std::string comparison_text(const ComparisonReport& report, const Layout& layout);
std::string oom_json(const OomReport& report, const Layout& layout);
std::string oom_text(const OomReport& report, const Layout& layout);
std::string table_json(const ReportTable& table, const Layout& layout);
std::string table_text(const ReportTable& table, const Layout& layout);

inline std::string size_text(std::int64_t bytes) { return text_of(Bytes{bytes}); }

}  // namespace vramfit::report
