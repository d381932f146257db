// Which rows make the ranking of a sweep: candidates in order, each certain before it is taken.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// How candidates become certain.
struct Deciding {
    std::function<void(SweepRow&)> decide;  ///< replays a row; empty: every candidate is known to fit
    bool all = false;                       ///< every one, also those that the ranking does not want
    std::size_t threads = 1;                ///< rows that are decided at once, ahead of their turn
};

/// Fills result.ranking from the candidates (numbers of rows), which may or may not fit. Rows are made certain in the
/// order of the selection; what was decided ahead and turns out not to be wanted leaves no trace. `stop` ends it early.
void rank_rows(std::span<const SweepQuestion> questions, const SweepSelection& selection,
               std::vector<std::size_t> candidates, const Deciding& deciding, const std::function<bool()>& stop,
               SweepResult& result);

}  // namespace vramfit
