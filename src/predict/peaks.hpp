// The named peaks of one run and what they are made of.
#pragma once

#include <span>
#include <vector>

#include "vramfit/peaks/peak.hpp"
#include "vramfit/predict/prediction.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// Each peak that has a window in the run, in order, with its shares.
std::vector<PeakResult> find_peaks(const Program& program, const Timeline& timeline, const RunShape& run,
                                   Bytes context);

/// The shape of a run of this model under this plan, which says where peaks may lie.
RunShape run_shape(const ModelSpec& model, const TrainPlan& plan);

/// The peak that requests most, the first of several; nullptr if there is none.
const PeakResult* highest_of(std::span<const PeakResult> peaks);

/// Bytes by category at each of the instants, in their order: one walk over the events.
std::vector<Shares> shares_at(const Program& program, const std::vector<Instant>& instants);

}  // namespace vramfit
