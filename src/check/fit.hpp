// Whether a run fits its card over all that is not known, and what it needs.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/spec/job.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// A run that fits.
struct Fit {
    std::int64_t reserved = 0;  ///< highest of the run
    std::int64_t spare = 0;     ///< usable bytes of the card that are left
};

/// The run on its card; nothing if it does not surely fit, cannot be, or cannot be predicted.
std::optional<Fit> fit_of(const Job& job);

/// The same for many runs of one network on one card: what ran out of memory while it was loaded or prepared does so
/// whatever is trained then, and runs that differ in the allocator alone are recorded once.
class Fits {
  public:
    std::optional<Fit> operator()(const Job& job);

    /// Bytes that its tensors request, the highest of the run; nothing if it cannot be.
    std::optional<std::int64_t> requested(const Job& job);

    /// Of all runs that were recorded.
    std::size_t events() const { return events_; }

  private:
    struct Recorded {
        TrainPlan plan;
        Stack stack;
        std::string alloc_conf;  ///< where it matters
        Program program;
    };

    const Program& program(const Job& job);

    std::vector<Job> too_large_to_load_;  ///< without what does not matter for that
    std::deque<Recorded> recorded_;       ///< the latest
    std::size_t events_ = 0;
};

/// The same with its program, which was checked.
std::optional<Fit> fit_of(const Program& program, const Job& job);

/// The same run on a card that is large enough; `spare` is below zero where the job's own is not. Throws Error.
Fit need_of(const Job& job);

/// The smallest of the known cards that surely holds the run, with as much kept free and the same settings as on the
/// job's own; empty: none does. `need` is what it reserves.
std::string smallest_card(std::int64_t need, const Job& job);

}  // namespace vramfit
