// Sweeps over Unsloth's own step, whose loss has as many parts as the tokens ask for, say of each row what a prediction
// of the row itself says.
#include "property/random_questions.hpp"
#include "property/same_largest.hpp"
#include "property/same_rows.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit::test {

namespace {

constexpr int kOfUnsloth = kSanitized ? 6 : 20;
constexpr int kLargestOfUnsloth = 20;

/// Up to 80,000 tokens of up to 128,256 words: from 1 to 40 parts.
SweepQuestion unsloth_question(Random& random) {
    constexpr const char* kJob =
        R"({"schema": "vramfit.job/1", "model": "llama-3.2-1b", "stack": "unsloth-2026.10",
            "loop": {"kind": "unsloth"}, "batch": {"sequence_length": 64}, "training": {"bf16": true},
            "peft": {"peft_type": "LORA", "r": 16, "lora_alpha": 16, "lora_dropout": 0, "target_modules":
            ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]}})";
    const Job job = read_job(kJob, "job.json", {});
    SweepQuestion q{job.model, job.plan, job.stack, device_from("1GiB"), {}};
    q.model.hidden_size = one<std::int64_t>(random, {256, 1024});
    q.model.intermediate_size = one<std::int64_t>(random, {512, 3072});
    q.model.vocab_size = one<std::int64_t>(random, {32000, 128256});
    q.model.num_hidden_layers = 2;
    q.model.layer_types.resize(2);
    q.model.num_attention_heads = q.model.hidden_size / q.model.head_dim;
    q.model.num_key_value_heads = maybe(random) ? q.model.num_attention_heads : 2;
    q.base.training.gradient_accumulation_steps = one<std::int64_t>(random, {1, 2});
    q.base.training.optim = one<const char*>(random, {"adamw_8bit", "adamw_torch"});
    if (maybe(random)) q.base.load.quantization.reset();
    if (maybe(random)) q.base.peft->lora_dropout = 0.1;
    if (q.base.peft->lora_dropout == 0) q.base.unsloth.padding_free = maybe(random);
    if (maybe(random)) q.base.unsloth.checkpointing = UnslothCheckpointing::plain;
    q.space.ranks = some<std::int64_t>(random, {8, 16, 64}, 2);
    q.space.batches = some<std::int64_t>(random, {1, 2, 5}, 2);
    q.space.lengths = some<std::int64_t>(random, {1, 100, 512, 1000, 1111, 2048, 4096, 5000, 8191, 12288, 16000}, 7);
    q.space.targets = {{"all-linear", {}}};
    if (q.base.peft->lora_dropout == 0 && q.base.unsloth.padding_free)
        q.space.targets.push_back({"q_proj+v_proj", {"q_proj", "v_proj"}});
    q.device = of_process(tight_card(random, q), q.base);
    return q;
}

}  // namespace

TEST_CASE("sweeps of Unsloth's step: as predicted one by one") {
    Random random(71);
    std::size_t rows = 0, fit = 0, paths = 0;
    for (int questions = 0; questions < kOfUnsloth; ++questions) {
        const SweepQuestion q = unsloth_question(random);
        INFO("question " << questions);
        SweepOptions with, without;
        with.selection.top = 5;
        without.prune = false;
        const SweepResult whole = sweep(q, without), pruned = sweep(q, with);
        check_same_rows(pruned, whole, with.selection.top);
        rows += whole.rows.size();
        fit += whole.ranking.size();
        paths += pruned.counts.recorded;
    }
    CHECK(fit > rows / 10);
    CHECK(fit < rows);
    CHECK(paths > 2 * kOfUnsloth);
}

TEST_CASE("sweeps of Unsloth's step: the longest rows and the largest batch", "[long]") {
    Random random(72);
    for (int questions = 0; questions < kLargestOfUnsloth; ++questions) {
        SweepQuestion q = unsloth_question(random);
        INFO("question " << questions);
        q.space.lengths.clear();
        for (std::int64_t tokens = 64; tokens <= 16384; tokens += 320) q.space.lengths.push_back(tokens);
        check_largest(q, SweepAxis::length);
        q.space.lengths = {1024};
        q.space.batches.clear();
        for (std::int64_t batch = 1; batch <= 24; ++batch) q.space.batches.push_back(batch);
        check_largest(q, SweepAxis::batch);
    }
}

}  // namespace vramfit::test
