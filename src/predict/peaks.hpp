// The named peaks of one run and what they are made of.
#pragma once

#include <vector>

#include "vramfit/peaks/peak.hpp"
#include "vramfit/predict/prediction.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// Each peak that has a window in the run, in order, with its shares.
std::vector<PeakResult> find_peaks(const Program& program, const Timeline& timeline, const RunShape& run,
                                   Bytes context);

/// Bytes by category at each of the instants, in their order: one walk over the events.
std::vector<Shares> shares_at(const Program& program, const std::vector<Instant>& instants);

}  // namespace vramfit
