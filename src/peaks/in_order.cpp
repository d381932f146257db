// The peaks in the order of a run.
#include <algorithm>

#include "vramfit/peaks/peak.hpp"

namespace vramfit {

std::vector<const Peak*> peaks_in_order() {
    const auto all = all_peaks();
    std::vector<const Peak*> sorted(all.begin(), all.end());
    std::sort(sorted.begin(), sorted.end(), [](const Peak* a, const Peak* b) { return a->order < b->order; });
    return sorted;
}

}  // namespace vramfit
