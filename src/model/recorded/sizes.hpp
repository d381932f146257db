// Formulas of a recording as sizes of a run.
#pragma once

#include "model/network/run.hpp"
#include "spec/network/formula.hpp"

namespace vramfit::model::recorded {

/// What formulas are of.
struct Symbols {
    Size batch;
    Size length;
    Size kept;      ///< tokens of each row, the last ones, that the head takes
    Size keys = 0;  ///< places that the layer sees which runs, where there is a cache
};

/// Throws Error (invalid) where a size leaves its range or a divisor is zero, and for keys of a configuration.
Size value_of(const network::Formula& formula, const Symbols& symbols);

/// Whether the comparison holds; a condition of the path where it compares symbols.
bool holds(const network::Comparison& comparison, const Symbols& symbols);

}  // namespace vramfit::model::recorded
