// By steps that double, then between the last two.
#include "predict/most_rows.hpp"

#include <algorithm>

namespace vramfit {

namespace {

constexpr std::int64_t kMostRows = 1 << 16;

/// `low` fits or is 0, `high` does not fit or is beyond what is looked at.
struct Between {
    std::int64_t low, high;
};

Between upwards(std::int64_t start, const FitsRows& fits) {
    std::int64_t low = start;
    for (std::int64_t step = 1; low < kMostRows; step *= 2) {
        const std::int64_t next = std::min(low + step, kMostRows);
        if (!fits(next)) return {low, next};
        low = next;
    }
    return {low, low + 1};
}

Between downwards(std::int64_t start, const FitsRows& fits) {
    std::int64_t high = start;
    for (std::int64_t step = 1; high > step; step *= 2) {
        if (fits(high - step)) return {high - step, high};
        high -= step;
    }
    return {0, high};
}

}  // namespace

std::int64_t most_rows(std::int64_t start, const FitsRows& fits) {
    Between rows = fits(start) ? upwards(start, fits) : downwards(start, fits);
    while (rows.high - rows.low > 1) {
        const std::int64_t middle = rows.low + (rows.high - rows.low) / 2;
        (fits(middle) ? rows.low : rows.high) = middle;
    }
    return rows.low;
}

}  // namespace vramfit
