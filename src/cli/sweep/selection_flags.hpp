// The flags that say which rows are swept, which of them are shown, and in which order.
#pragma once

#include <string>

#include "cli/sweep/questions.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace CLI {
class App;
}

namespace vramfit::cli {

struct SelectionFlags {
    std::string min_rank, min_batch, min_seq, min_tokens, effective_batch;
    std::string sort, pareto, per_group, top;

    void add(CLI::App& app);

    /// Bounds of a file. Throws Error (invalid) for one that a flag gives, too.
    void take_bounds(const std::map<std::string, std::string>& bounds, const std::string& file);
    /// With --effective-batch alone: batches with the accumulation that makes N of them.
    void pair_accumulation(const PlanFlags& flags, SweepAsked& asked) const;
    /// Bounds, order and what is shown, for a report whose questions are known. Throws Error.
    void apply(SweepReport& report) const;
};

}  // namespace vramfit::cli
