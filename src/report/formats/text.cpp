// Text: for people; sizes are in GiB.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format text_entry;
const Format text_entry = {
    .name = "text",
    .summary = "for people, as wide as the terminal",
    .order = 10,
    .prediction = report::prediction_text,
    .timeline = report::timeline_text,
    .table = report::table_text,
    .sweep = report::sweep_text,
    .check = report::check_text,
    .formulas = report::formulas_text,
    .methods = report::methods_text,
    .comparison = report::comparison_text,
    .oom = report::oom_text,
};

}  // namespace vramfit::formats
