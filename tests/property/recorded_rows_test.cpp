// Sweeps of a recorded network: rows are those predicted one by one, and those of the same network written by hand.

#include <fmt/format.h>

#include "property/same_rows.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::test {

namespace {

SweepQuestion question_about(const char* file) {
    SweepQuestion q;
    q.model = load_model(fmt::format("{}/networks/{}", VRAMFIT_TEST_DATA_DIR, file), Environment{});
    q.base.peft.emplace().target_modules = std::vector<std::string>{"q_proj", "v_proj"};
    q.stack = stack_from("hf-2026-11").stack;
    q.device = device_from("1GiB");
    q.space.batches = {1, 2, 3, 5, 8};
    q.space.lengths = {7, 32, 57, 128, 300};
    q.space.ranks = {1, 8, 33};
    q.space.targets = {{"attention", {"q_proj", "v_proj"}},
                       {"all", {"q_proj", "down_proj", "lm_head", "embed_tokens"}}};
    return q;
}

SweepResult all_rows(const SweepQuestion& q) {
    SweepOptions options;
    options.prune = false;
    return sweep(q, options);
}

void check_question(SweepQuestion recorded, SweepQuestion written) {
    const SweepResult whole = all_rows(recorded), by_hand = all_rows(written);
    SweepOptions pruned;
    pruned.selection.top = 5;
    check_same_rows(sweep(recorded, pruned), whole, pruned.selection.top);
    REQUIRE(whole.rows.size() == by_hand.rows.size());
    CHECK(whole.rows.size() >= 25);
    CHECK(!whole.ranking.empty());
    CHECK(whole.ranking == by_hand.ranking);
    for (std::size_t i = 0; i < whole.rows.size(); ++i) {
        CHECK(whole.rows[i].requested == by_hand.rows[i].requested);
        CHECK(whole.rows[i].reserved == by_hand.rows[i].reserved);
    }
}

}  // namespace

TEST_CASE("rows of a recorded network: LoRA") {
    check_question(question_about("llama-tiny.json"), question_about("llama-tiny.config.json"));
}

TEST_CASE("rows of a recorded network: full training with checkpointing") {
    SweepQuestion recorded = question_about("llama-tiny.json"), written = question_about("llama-tiny.config.json");
    for (SweepQuestion* q : {&recorded, &written}) {
        q->base.peft.reset();
        q->base.training.gradient_checkpointing = true;
        q->space.ranks = {1};
        q->space.targets = {{"all weights", {}}};
    }
    check_question(recorded, written);
}

}  // namespace vramfit::test
