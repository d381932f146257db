// What the allocator makes of rows: their programs, replayed under the card's capacity.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "predict/ends.hpp"
#include "sweep/formulas.hpp"
#include "sweep/row_axes.hpp"

namespace vramfit {

class RowReplays {
  public:
    explicit RowReplays(std::span<const SweepQuestion> questions);

    /// Replays a row of this place in its question's space: its verdict and, if it fits, the levels of its highest
    /// peak, with what it requests on that card. Rows of one path share a recording. Several threads may ask at once.
    void settle(SweepRow& row, std::size_t place);

    /// Takes the programs of paths of a set of targets, as long as there is room for them; else an empty function.
    TargetFormulas::TakeProgram taker(std::size_t question, std::size_t target);

  private:
    /// The recording of a path, made by the first thread that asks for it.
    struct Recorded {
        std::once_flag once;
        std::optional<ProgramTemplate> program;
        std::size_t last_use = 0;
        std::size_t bytes = 0;  ///< 0: not counted in held_
    };

    /// A path: its question, set of targets, and number among the paths of these.
    using Key = std::tuple<std::size_t, std::size_t, std::size_t>;
    std::shared_ptr<Recorded> recorded(const Key& key);
    void keep(const Key& key, Recorded& recorded, ProgramTemplate program);

    /// Unsloth's rows are other programs where a card has little: each is recorded, beginning with what the last one
    /// decided.
    Judged judge_unsloth(std::size_t question, std::size_t target, const TrainPlan& plan);

    std::span<const SweepQuestion> questions_;
    std::vector<RowAxes> axes_;  ///< by question
    std::mutex mutex_;           ///< of the recordings' table and the choices
    std::size_t uses_ = 0;
    std::size_t held_ = 0;  ///< bytes of programs
    std::map<Key, std::shared_ptr<Recorded>> recordings_;
    std::map<std::pair<std::size_t, std::size_t>, UnslothOnCard> choices_;  ///< of a question's targets, the last made
};

/// Writes what a run requests at most, and its highest peak, into its row; nullptr: the run has none.
void show_run(SweepRow& row, const Levels& levels, const PeakResult* highest);

}  // namespace vramfit
