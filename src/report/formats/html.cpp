// HTML: pages that stand alone, for browsers and to send around.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format html_entry;
const Format html_entry = {
    .name = "html",
    .summary = "a page that stands alone",
    .order = 80,
    .draws = true,
    .timeline = report::timeline_html,
    .sweep = report::sweep_html,
    .page = report::prediction_html,
};

}  // namespace vramfit::formats
