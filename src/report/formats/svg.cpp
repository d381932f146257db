// SVG: a sweep or a timeline as a picture.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format svg_entry;
const Format svg_entry = {
    .name = "svg",
    .summary = "a picture",
    .order = 70,
    .draws = true,
    .timeline = report::timeline_svg,
    .sweep = report::sweep_svg,
};

}  // namespace vramfit::formats
