// The largest value of an axis is what replaying every row says, on random questions.
#include "vramfit/sweep/largest.hpp"

#include <map>

#include "property/random_questions.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::test {

namespace {

#ifdef VRAMFIT_SANITIZED
constexpr int kQuestions = 3;
#else
constexpr int kQuestions = 30;
#endif

std::vector<std::int64_t> steps(std::int64_t first, std::int64_t last, std::int64_t by) {
    std::vector<std::int64_t> out;
    for (std::int64_t v = first; v <= last; v += by) out.push_back(v);
    return out;
}

SweepQuestion dense_question(Random& random, SweepAxis axis) {
    SweepQuestion q;
    q.stack = stack_from("").stack;
    q.device = device_from("1GiB");
    q.model = tiny_model(random);
    one<Plan>(random, {lora_torch, qlora_paged, full_torch})(random, q);
    q.space = tiny_space(random, q.model, q.base.peft.has_value());
    q.space.targets.resize(1);
    if (axis == SweepAxis::length) q.space.lengths = steps(16, 16 + 12 * 40, one<std::int64_t>(random, {1, 8, 40}) * 4);
    if (axis == SweepAxis::batch) q.space.batches = steps(1, 16, 1);
    if (axis == SweepAxis::rank && q.base.peft) q.space.ranks = steps(4, 40, 4);
    q.space.batches.resize(std::min<std::size_t>(q.space.batches.size(), 16));
    q.device = tight_card(random, q);
    return q;
}

/// The largest fitting value of each combination, as rows of a sweep that replays all.
std::map<std::vector<std::size_t>, std::size_t> by_replay(const SweepQuestion& q, SweepAxis axis,
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

void same_largest(unsigned seed, SweepAxis axis) {
    Random random(seed);
    for (int questions = 0; questions < kQuestions; ++questions) {
        const SweepQuestion q = dense_question(random, axis);
        SweepOptions all;
        all.selection.top = 0;
        SweepResult whole;
        try {
            whole = sweep(q, all);
        } catch (const Error&) {
            continue;  // no valid row
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
        INFO("question " << questions);
        CHECK(found == expected);
    }
}

}  // namespace

TEST_CASE("largest: lengths") { same_largest(41, SweepAxis::length); }
TEST_CASE("largest: batches") { same_largest(42, SweepAxis::batch); }
TEST_CASE("largest: ranks") { same_largest(43, SweepAxis::rank); }

}  // namespace vramfit::test
