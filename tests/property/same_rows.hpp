// What early stopping may not change: the rows of both sweeps of one question.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::test {

/// `whole`: every row by itself, without early stopping; `pruned`: with it, and the first `top` of the ranking.
inline void check_same_rows(const SweepResult& pruned, const SweepResult& whole, std::size_t top) {
    REQUIRE(whole.rows.size() == pruned.rows.size());
    for (std::size_t row = 0; row < whole.rows.size(); ++row) {
        INFO("row " << row);
        const SweepRow &a = pruned.rows[row], &b = whole.rows[row];
        if (a.verdict && b.verdict) {
            INFO(name_of(*a.verdict) << " " << name_of(*b.verdict) << " " << a.requested << " " << a.reserved << " "
                                     << b.reserved);
            CHECK(*a.verdict == *b.verdict);
        }
        CHECK((a.status == RowStatus::invalid) == (b.status == RowStatus::invalid));
        if (a.status == RowStatus::simulated) CHECK(a.requested == b.requested);
    }
    std::vector<std::size_t> first = whole.ranking;
    first.resize(std::min(first.size(), top));
    CHECK(pruned.ranking == first);
}

}  // namespace vramfit::test
