// SVG: a sweep as a picture.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format svg_entry;
const Format svg_entry = {
    .name = "svg",
    .summary = "a sweep as a map of two axes",
    .order = 70,
    .sweep = report::sweep_svg,
};

}  // namespace vramfit::formats
