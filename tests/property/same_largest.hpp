// The largest value of an axis, by bisection and by replaying every row.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/sweep/largest.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::test {

/// The largest fitting value of each combination, as rows of a sweep that replays all.
inline std::map<std::vector<std::size_t>, std::size_t> by_replay(const SweepQuestion& q, SweepAxis axis,
                                                                 const SweepResult& whole) {
    std::map<std::vector<std::size_t>, std::size_t> out;
    const auto value = [&](std::size_t place) {
        const Coordinates c = coordinates_of(q.space, place);
        return axis == SweepAxis::rank    ? q.space.ranks[c.rank]
               : axis == SweepAxis::batch ? q.space.batches[c.batch]
                                          : q.space.lengths[c.length];
    };
    for (const SweepRow& row : whole.rows) {
        if (row.verdict != Verdict::fits) continue;
        const Coordinates c = coordinates_of(q.space, row.number);
        const std::vector<std::size_t> others = {c.target, axis == SweepAxis::rank ? 0 : c.rank,
                                                 axis == SweepAxis::batch ? 0 : c.batch,
                                                 axis == SweepAxis::length ? 0 : c.length};
        const auto [best, is_new] = out.emplace(others, row.number);
        if (!is_new && value(row.number) > value(best->second)) best->second = row.number;
    }
    return out;
}

/// Both say the same of every combination of the other axes.
inline void check_largest(const SweepQuestion& q, SweepAxis axis) {
    SweepOptions all;
    all.selection.top = 0;
    SweepResult whole;
    try {
        whole = sweep(q, all);
    } catch (const Error&) {
        return;  // no valid row
    }
    std::vector<std::size_t> expected, found;
    for (const auto& [others, row] : by_replay(q, axis, whole)) expected.push_back(row);
    const LargestAnswer answer = largest({&q, 1}, {}, axis);
    for (const LargestRow& row : answer.rows) {
        found.push_back(row.row.number);
        CHECK(row.row.requested == whole.rows[row.row.number].requested);
        CHECK(row.row.reserved == whole.rows[row.row.number].reserved);
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    CHECK(found == expected);
}

}  // namespace vramfit::test
