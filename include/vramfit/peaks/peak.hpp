// The named peaks: each is a question about the recorded program, answered by windows of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vramfit/trace/phase.hpp"

namespace vramfit {

/// What a peak may look at: the shape of the run.
struct RunShape {
    std::int32_t layers = 0;
    bool quantized = false;  ///< weights are packed while they are loaded
};

/// One named peak. A plug-in: each file in src/peaks defines one. Every window of a run belongs to a peak; with two
/// layers or more to exactly one.
struct Peak {
    const char* id;        ///< "A" to "I"; two letters ("G,H") where one window holds two moments; "" for the others
    const char* name;      ///< "central_autograd"; docs/peaks/NAME.md is its page
    const char* question;  ///< one sentence for help and docs
    const char* moment;    ///< what happens then, as a sentence for someone who has read no docs
    int order;             ///< place in tables: that of the moment in a step
    /// Whether a window belongs to this peak.
    bool (*covers)(const Phase& phase, const RunShape& run);
};

/// All peaks, in no useful order.
std::span<const Peak* const> all_peaks();

/// All peaks in the order of a run.
std::vector<const Peak*> peaks_in_order();

}  // namespace vramfit
