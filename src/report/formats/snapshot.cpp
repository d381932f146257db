// PyTorch's memory snapshot: timelines for pytorch.org/memory_viz and torch/cuda/_memory_viz.py.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format snapshot_entry;
const Format snapshot_entry = {
    .name = "snapshot",
    .summary = "for pytorch.org/memory_viz: write it with --output FILE",
    .order = 90,
    .draws = true,
    .timeline = report::timeline_snapshot,
};

}  // namespace vramfit::formats
