// JSON: for scripts; sizes are exact integers of bytes.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format json_entry;
const Format json_entry = {
    .name = "json",
    .summary = "for scripts: exact bytes",
    .order = 20,
    .prediction = report::prediction_json,
    .timeline = report::timeline_json,
    .table = report::table_json,
    .sweep = report::sweep_json,
    .check = report::check_json,
    .formulas = report::formulas_json,
    .methods = report::methods_json,
    .comparison = report::comparison_json,
    .oom = report::oom_json,
};

}  // namespace vramfit::formats
