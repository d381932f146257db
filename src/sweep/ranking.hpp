// Which rows make the ranking of a sweep: candidates in order, each certain before it is taken.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// Fills result.ranking from the candidates (numbers of rows), which may or may not fit. `fits` makes a row certain; it
/// is asked in the order of the selection, and only for rows that the ranking wants, or for every one where `all` is
/// set. `stop` ends it early.
void rank_rows(std::span<const SweepQuestion> questions, const SweepSelection& selection, bool all,
               std::vector<std::size_t> candidates, const std::function<bool(SweepRow&)>& fits,
               const std::function<bool()>& stop, SweepResult& result);

}  // namespace vramfit
