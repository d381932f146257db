// What the windows of a job's run are, and how much they request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "vramfit/alloc/replay.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit::test {

inline bool has_window(const Job& job, const std::string& name) {
    const Program program = program_of(job);
    return std::any_of(program.windows.begin(), program.windows.end(),
                       [&](const Window& window) { return name_of(window.phase) == name; });
}

/// The highest requested bytes of the windows of that name; 0: there are none.
inline std::int64_t most_requested_in(const Job& job, const std::string& name) {
    std::int64_t most = 0;
    for (const WindowLevels& window : timeline(job.model, job.plan, job.stack, job.device).windows)
        if (name_of(window.phase) == name) most = std::max(most, window.peak.requested);
    return most;
}

}  // namespace vramfit::test
