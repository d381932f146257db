// The program of a path with its sizes as formulas: the program of any row of the path without running the engine
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "symbolic/evaluation.hpp"
#include "trace/packed_run.hpp"
#include "trace/parameter_counts.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

class ProgramTemplate {
  public:
    /// `sizes` has the bytes of each allocation of `program`.
    ProgramTemplate(const symbolic::Symbols& symbols, Program program, const std::vector<Size>& sizes,
                    const ParameterCounts& parameters);

    /// Whether the row with these values of the axes takes the path.
    bool covers(std::span<const std::int64_t> axes) const;

    /// The program of the row with these values of the axes, which must take the path: allocations of no bytes left
    /// out.
    Program at(std::span<const std::int64_t> axes) const;

    /// What it takes in memory, about.
    std::size_t bytes() const;

  private:
    struct Distinct;
    ProgramTemplate(const symbolic::Symbols& symbols, Program program, Distinct distinct,
                    const ParameterCounts& parameters);

    Program program_;  ///< without events and allocations
    PackedRun run_;
    symbolic::Evaluation sizes_;
    symbolic::Evaluation parameters_;  ///< trainable, total
    std::vector<symbolic::Condition> conditions_;
    symbolic::Evaluation checks_;  ///< of the conditions
};

}  // namespace vramfit
