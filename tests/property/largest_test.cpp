// The largest value of an axis is what replaying every row says, on random questions.
#include "vramfit/sweep/largest.hpp"

#include "property/random_questions.hpp"
#include "property/same_largest.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::test {

namespace {

constexpr int kQuestions = kSanitized ? 3 : 30;

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

void same_largest(unsigned seed, SweepAxis axis) {
    Random random(seed);
    for (int questions = 0; questions < kQuestions; ++questions) {
        const SweepQuestion q = dense_question(random, axis);
        INFO("question " << questions);
        check_largest(q, axis);
    }
}

}  // namespace

TEST_CASE("largest: lengths") { same_largest(41, SweepAxis::length); }
TEST_CASE("largest: batches") { same_largest(42, SweepAxis::batch); }
TEST_CASE("largest: ranks") { same_largest(43, SweepAxis::rank); }

}  // namespace vramfit::test
