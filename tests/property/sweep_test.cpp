// A sweep with early stopping says the same as one without, on 500 random small spaces, fifty of each kind of run (five
// of each under sanitizers).
#include "vramfit/sweep/sweep.hpp"

#include <tuple>

#include "model/record.hpp"
#include "property/random_questions.hpp"
#include "property/same_rows.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/sweep/largest.hpp"

namespace vramfit::test {

namespace {

/// Both sweeps of one question; false if no row of it is valid.
bool same_answers(Random& random, const SweepQuestion& q) {
    SweepOptions with, without;
    with.selection.top = 1 + random() % 5;
    without.prune = false;
    SweepResult whole;
    try {
        whole = sweep(q, without);
    } catch (const Error& e) {
        CHECK_THROWS_AS(sweep(q, with), Error);
        CHECK(e.kind() == ErrorKind::invalid);
        return false;
    }
    check_same_rows(sweep(q, with), whole, with.selection.top);
    return true;
}

enum class Card : std::uint8_t { ample, tight };

/// Three questions of different kinds.
std::vector<SweepQuestion> several_questions(Random& random, Card card) {
    std::vector<SweepQuestion> questions;
    for (const Plan plan : {lora_torch, full_torch, qlora_paged}) {
        SweepQuestion& q = questions.emplace_back();
        q.stack = stack_from("").stack;
        q.device = device_from("1GiB");
        q.model = tiny_model(random);
        plan(random, q);
        q.space = tiny_space(random, q.model, q.base.peft.has_value());
        if (card == Card::tight) q.device = tight_card(random, q);
    }
    return questions;
}

constexpr int kSpaces = kSanitized ? 5 : 50;
constexpr Bytes kStep{kSanitized ? 24 * kMiB : 4 * kMiB};  ///< between the cards of the last test

void many_spaces(unsigned seed, Plan plan) {
    Random random(seed);
    for (int spaces = 0; spaces < kSpaces;) {
        SweepQuestion q;
        q.stack = stack_from("").stack;
        q.device = device_from(one<const char*>(random, {"1GiB", "RTX 4090", "Tesla T4"}));
        q.model = tiny_model(random);
        plan(random, q);
        q.space = tiny_space(random, q.model, q.base.peft.has_value());
        q.device = tight_card(random, q);
        INFO("space " << spaces << ", " << q.device.usable.count
                      << " bytes: " << to_json_text(Job{q.model, q.base, q.stack, q.device, {}}));
        spaces += same_answers(random, q);
    }
}

}  // namespace

TEST_CASE("early stopping: full training, torch's optimizers") { many_spaces(1, full_torch); }
TEST_CASE("early stopping: full training, paged optimizers") { many_spaces(2, full_paged); }
TEST_CASE("early stopping: LoRA, torch's optimizers") { many_spaces(3, lora_torch); }
TEST_CASE("early stopping: LoRA, a paged optimizer") { many_spaces(4, lora_paged); }
TEST_CASE("early stopping: LoRA, 8-bit optimizers") { many_spaces(5, lora_8bit); }
TEST_CASE("early stopping: LoRA in a plain loop") { many_spaces(6, lora_plain); }
TEST_CASE("early stopping: LoRA with fp16 mixed precision") { many_spaces(7, lora_fp16); }
TEST_CASE("early stopping: QLoRA, paged optimizers") { many_spaces(8, qlora_paged); }
TEST_CASE("early stopping: QLoRA, other optimizers") { many_spaces(9, qlora_torch); }
TEST_CASE("early stopping: QLoRA with the libraries of 2024") { many_spaces(10, qlora_2024); }

// Rank 17 makes matrices of 102,000 elements, whose states leave the allocator: it fits where rank 16 does not.
TEST_CASE("early stopping: a larger rank may need less than a smaller one") {
    Random random(11);
    SweepQuestion q;
    q.stack = stack_from("").stack;
    q.device = device_from("RTX 4090");
    q.device.assumptions.clear();
    q.model = tiny_model(random);
    q.model.intermediate_size = 6000;
    q.model.vocab_size = 1100;
    q.model.num_hidden_layers = 12;
    q.model.layer_types.assign(12, LayerAttention::full);
    q.base.peft = LoraPlan{};
    q.base.training.optim = "paged_adamw_32bit";
    q.base.training.gradient_checkpointing = true;
    q.space.ranks = {14, 16, 17, 19};
    q.space.batches = {1};
    q.space.lengths = {16, 17, 18};
    q.space.targets = {target_set(q.model, "mlp")};
    const auto requested = [&](std::size_t row) {
        return model::summarize(q.model, plan_of(q.space, q.base, row), q.stack, q.device).requested;
    };
    constexpr std::size_t kBefore = 4, kAfter = 7;  // ranks 16 and 17 with 17 tokens
    REQUIRE(requested(kAfter) < requested(kBefore));
    int told_apart = 0;
    for (q.device.usable = Bytes{requested(kAfter)}; q.device.usable.count < requested(kBefore);
         q.device.usable += kStep) {
        q.device.total = q.device.usable + q.device.context;
        CHECK(same_answers(random, q));
        SweepOptions whole;
        whole.prune = false;
        const SweepResult result = sweep(q, whole);
        told_apart +=
            result.rows[kBefore].verdict == Verdict::too_large && result.rows[kAfter].verdict == Verdict::fits;
    }
    CHECK(told_apart > 0);
}

TEST_CASE("sweep: the same answer on any number of threads") {
    Random random(22);
    const std::vector<SweepQuestion> questions = several_questions(random, Card::tight);
    for (const bool prune : {true, false}) {
        SweepOptions options;
        options.prune = prune;
        options.selection.top = 3;
        const SweepResult one = sweep(questions, options);
        options.threads = 5;
        const SweepResult many = sweep(questions, options);
        CHECK(many.ranking == one.ranking);
        CHECK(many.counts.recorded == one.counts.recorded);
        CHECK(many.counts.replayed == one.counts.replayed);
        REQUIRE(many.rows.size() == one.rows.size());
        for (std::size_t i = 0; i < one.rows.size(); ++i) {
            INFO("row " << i);
            const SweepRow &a = one.rows[i], &b = many.rows[i];
            CHECK(std::tuple(a.number, a.question, a.status, a.verdict, a.path, a.ruled_out_by, a.problem, a.peak) ==
                  std::tuple(b.number, b.question, b.status, b.verdict, b.path, b.ruled_out_by, b.problem, b.peak));
            CHECK(std::tuple(a.requested, a.allocated, a.reserved) == std::tuple(b.requested, b.allocated, b.reserved));
        }
    }
    SweepOptions options;
    const auto places = [&](const LargestAnswer& answer) {
        std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t>> out;
        for (const LargestRow& r : answer.rows) out.emplace_back(r.row.number, r.row.requested, r.row.reserved);
        return out;
    };
    const auto one = places(largest(questions, options, SweepAxis::length));
    options.threads = 4;
    CHECK(places(largest(questions, options, SweepAxis::length)) == one);
    CHECK_FALSE(one.empty());
}

TEST_CASE("sweep: several questions keep their rows and share a ranking") {
    Random random(21);
    const std::vector<SweepQuestion> questions = several_questions(random, Card::ample);
    SweepOptions all;
    all.selection.top = 0;
    const SweepResult together = sweep(questions, all);
    std::size_t first = 0;
    std::size_t fitting = 0;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const SweepResult alone = sweep(questions[i], all);
        REQUIRE(together.first_rows[i] == first);
        for (const SweepRow& row : alone.rows) {
            const SweepRow& same = together.rows[first + row.number];
            CHECK(same.question == i);
            CHECK(same.requested == row.requested);
            CHECK(same.verdict == row.verdict);
            CHECK(together.place_of(same) == row.number);
        }
        first += alone.rows.size();
        fitting += alone.ranking.size();
    }
    CHECK(together.rows.size() == first);
    CHECK(together.ranking.size() == fitting);
    CHECK(std::is_sorted(together.ranking.begin(), together.ranking.end(), [&](std::size_t a, std::size_t b) {
        return together.rows[a].utilization > together.rows[b].utilization;
    }));
}

TEST_CASE("sweep: a question that no run can have is invalid beside others, and an error alone") {
    Random random(22);
    std::vector<SweepQuestion> questions(2);
    for (SweepQuestion& q : questions) {
        q.stack = stack_from("").stack;
        q.device = device_from("1GiB");
        q.model = tiny_model(random);
        lora_torch(random, q);
        q.space = tiny_space(random, q.model, true);
    }
    questions[0].base.training.optim = "galore_adamw";
    const SweepResult result = sweep(questions, {});
    CHECK(result.counts.invalid >= row_count(questions[0].space));
    CHECK_FALSE(result.rows[0].problem.empty());
    CHECK(result.counts.simulated > 0);
    CHECK_THROWS_AS(sweep(questions[0], {}), Error);
}

}  // namespace vramfit::test
