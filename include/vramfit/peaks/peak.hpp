// The named peaks: each is a question about the recorded program, answered by windows of it.
#pragma once

#include <span>

#include "vramfit/trace/phase.hpp"

namespace vramfit {

/// What a peak calculator may look at: the shape of the run.
struct RunShape {
    std::int32_t layers = 0;
    std::int32_t steps = 0;
};

/// One named peak. A plug-in: each file in src/peaks defines one.
struct Peak {
    const char* id;        ///< "A" to "I"; "" for the others
    const char* name;      ///< "central_autograd"
    const char* question;  ///< one sentence for help and docs
    int order;             ///< place in tables
    /// Whether a window belongs to this peak.
    bool (*covers)(const Phase& phase, const RunShape& run);
};

/// All peaks in order.
std::span<const Peak* const> all_peaks();

}  // namespace vramfit
