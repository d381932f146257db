// How many rows of a batch fit.
#pragma once

#include <cstdint>
#include <functional>

namespace vramfit {

using FitsRows = std::function<bool(std::int64_t rows)>;

/// Rows that fit while one more does not, looked for from `start` on, which is at least 1; 0: not even one does. `fits`
/// is asked about as many rows as the answer is far from `start` has binary digits, twice at most.
std::int64_t most_rows(std::int64_t start, const FitsRows& fits);

}  // namespace vramfit
