// Markdown: rankings for documents; sizes are exact integers of bytes.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format markdown_entry;
const Format markdown_entry = {
    .name = "markdown",
    .summary = "sweeps as a Markdown table",
    .order = 40,
    .sweep = report::sweep_markdown,
};

}  // namespace vramfit::formats
