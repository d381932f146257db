// A sweep with early stopping says the same as one without, on 500 random small spaces, fifty of each kind of run (five
// of each under sanitizers).
#include <algorithm>
#include <random>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::test {

namespace {

using Random = std::mt19937;
using Plan = void (*)(Random&, SweepQuestion&);

template <class T>
T one(Random& random, std::initializer_list<T> from) {
    return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
}

bool maybe(Random& random) { return random() % 2 == 0; }

template <class T>
std::vector<T> some(Random& random, std::vector<T> from, std::size_t most) {
    std::shuffle(from.begin(), from.end(), random);
    from.resize(1 + random() % std::min(most, from.size()));
    return from;
}

/// Two or three layers of 64 to 96 channels. From rank 17 in an MLP of 6000 and 63 in one of 1600, adapters have more
/// than 100,000 elements, which paged optimizers keep elsewhere.
ModelSpec tiny_model(Random& random) {
    ModelSpec m;
    m.model_type = one<const char*>(random, {"llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2"});
    m.name = m.model_type;
    m.hidden_size = one<std::int64_t>(random, {64, 96});
    m.num_attention_heads = m.hidden_size / 16;
    m.num_key_value_heads = maybe(random) ? m.num_attention_heads : 2;
    m.head_dim = 16;
    m.intermediate_size = one<std::int64_t>(random, {176, 1600, 6000});
    m.vocab_size = one<std::int64_t>(random, {1100, 8000, 32000});
    m.num_hidden_layers = one<std::int64_t>(random, {2, 2, 2, 3});
    m.max_position_embeddings = 1024;
    m.attention_bias = m.model_type == "qwen2";
    m.tie_word_embeddings = m.model_type.starts_with("gemma") || maybe(random);
    m.layer_types.assign(static_cast<std::size_t>(m.num_hidden_layers), LayerAttention::full);
    if (m.model_type == "gemma2") {
        m.sliding_window = 100;
        m.attn_logit_softcapping = 50.0;
        m.final_logit_softcapping = 30.0;
        for (std::size_t i = 0; i < m.layer_types.size(); i += 2) m.layer_types[i] = LayerAttention::sliding;
    }
    return m;
}

void any_run(Random& random, SweepQuestion& q) {
    TrainingPlan& t = q.base.training;
    t.gradient_checkpointing = maybe(random);
    if (maybe(random)) t.use_reentrant = maybe(random);
    t.bf16 = maybe(random);
    t.gradient_accumulation_steps = one<std::int64_t>(random, {1, 1, 1, 1, 2});
    t.max_grad_norm = one(random, {0.0, 1.0});
    q.base.load.dtype = t.bf16 && maybe(random) ? DType::float32 : DType::bfloat16;
    if (maybe(random)) q.base.load.attention = AttentionImplementation::eager;
    q.base.batch.attention_mask = one(random, {AttentionMask::absent, AttentionMask::ones, AttentionMask::left_padded});
}

void lora(Random& random, SweepQuestion& q) {
    any_run(random, q);
    q.base.peft = LoraPlan{};
    q.base.peft->lora_dropout = one(random, {0.0, 0.1});
}

void qlora(Random& random, SweepQuestion& q) {
    lora(random, q);
    q.base.load.quantization = QuantizationPlan{};
    q.base.load.quantization->double_quant = maybe(random);
    q.base.load.quantization->compute_dtype = DType::bfloat16;
    if (maybe(random)) q.base.prepare_kbit = PreparePlan{};
}

void full_paged(Random& random, SweepQuestion& q) {
    any_run(random, q);
    q.base.training.optim = one<const char*>(random, {"paged_adamw_32bit", "paged_adamw_8bit"});
}

void full_torch(Random& random, SweepQuestion& q) {
    any_run(random, q);
    q.base.training.optim = one<const char*>(random, {"adamw_torch", "adamw_torch_fused", "sgd", "adamw_bnb_8bit"});
}

void lora_torch(Random& random, SweepQuestion& q) {
    lora(random, q);
    q.base.training.optim = one<const char*>(random, {"adamw_torch", "adamw_torch_fused", "sgd"});
}

void lora_paged(Random& random, SweepQuestion& q) {
    lora(random, q);
    q.base.training.optim = "paged_adamw_32bit";
}

void lora_8bit(Random& random, SweepQuestion& q) {
    lora(random, q);
    q.base.training.optim = one<const char*>(random, {"adamw_bnb_8bit", "paged_adamw_8bit"});
}

void lora_plain(Random& random, SweepQuestion& q) {
    lora_torch(random, q);
    q.base.loop.kind = LoopKind::plain;
    q.base.loop.output = one(random, {OutputLife::until_next_forward, OutputLife::until_step_end});
    q.base.loop.zero_grad = one(random, {ZeroGrad::after_step, ZeroGrad::before_forward});
}

void lora_fp16(Random& random, SweepQuestion& q) {
    lora_torch(random, q);
    q.base.training.bf16 = false;
    q.base.training.fp16 = true;
    q.base.load.dtype = one(random, {DType::float32, DType::float16});
}

void qlora_paged(Random& random, SweepQuestion& q) {
    qlora(random, q);
    q.base.training.optim = one<const char*>(random, {"paged_adamw_32bit", "paged_adamw_8bit"});
}

void qlora_torch(Random& random, SweepQuestion& q) {
    qlora(random, q);
    q.base.training.optim = one<const char*>(random, {"adamw_torch", "adamw_bnb_8bit"});
}

void qlora_2024(Random& random, SweepQuestion& q) {
    qlora_paged(random, q);
    q.stack = stack_from("hf-2024-04").stack;
    // Reentrant checkpoints, the default of the time, need an input that asks for a gradient.
    if (q.base.training.gradient_checkpointing && !q.base.prepare_kbit) q.base.loop.input_require_grads = true;
    q.model.model_type = one<const char*>(random, {"llama", "gemma", "mistral"});
    q.model.attention_bias = false;
    q.model.layer_types.assign(q.model.layer_types.size(), LayerAttention::full);
    q.model.attn_logit_softcapping.reset();
    q.model.final_logit_softcapping.reset();
    q.model.sliding_window.reset();
    q.model.head_dim = q.model.hidden_size / q.model.num_attention_heads;
}

SweepSpace tiny_space(Random& random, const ModelSpec& model, bool adapters) {
    SweepSpace space;
    space.batches = some<std::int64_t>(random, {1, 2, 3, 8}, 3);
    space.lengths = some<std::int64_t>(random, {16, 100, 128, 512, 1000}, 2);
    space.ranks = {1};
    space.targets = {{"all weights", {}}};
    if (!adapters) return space;
    space.ranks = some<std::int64_t>(random, {1, 8, 16, 17, 62, 63, 128}, 4);  // 128 is above attention's matrices
    space.targets.clear();
    for (const std::string& name :
         some<std::string>(random, {"attention", "mlp", "embedding", "attention+mlp", "q_proj+down_proj"}, 2))
        space.targets.push_back(target_set(model, name));
    return space;
}

/// A card whose border lies close to what one of the rows asks for, so that some rows fit and some do not.
Device tight_card(Random& random, const SweepQuestion& q) {
    Device card = q.device;
    const std::size_t rows = row_count(q.space);
    const std::size_t first = random() % rows;
    for (std::size_t i = 0; i < rows; ++i) {
        const TrainPlan plan = plan_of(q.space, q.base, (first + i) % rows);
        try {
            check_plan(q.model, plan, q.stack);
        } catch (const Error&) {
            continue;
        }
        const std::int64_t bytes = model::summarize(q.model, plan, q.stack, q.device).requested;
        card.usable = Bytes{bytes + one<std::int64_t>(random, {-1, 0, kMiB, 3 * kMiB, 20 * kMiB, 40 * kMiB})};
        break;
    }
    card.total = card.usable + card.context;
    return card;
}

/// Both sweeps of one question; false if no row of it is valid.
bool same_answers(Random& random, const SweepQuestion& q) {
    SweepOptions with, without;
    with.top = 1 + random() % 5;
    without.prune = false;
    SweepResult whole;
    try {
        whole = sweep(q, without);
    } catch (const Error& e) {
        CHECK_THROWS_AS(sweep(q, with), Error);
        CHECK(e.kind() == ErrorKind::invalid);
        return false;
    }
    const SweepResult pruned = sweep(q, with);
    for (std::size_t row = 0; row < whole.rows.size(); ++row) {
        INFO("row " << row);
        const SweepRow &a = pruned.rows[row], &b = whole.rows[row];
        if (a.verdict) CHECK(a.verdict == b.verdict);
        CHECK((a.status == RowStatus::invalid) == (b.status == RowStatus::invalid));
        if (a.status == RowStatus::simulated) CHECK(a.requested == b.requested);
    }
    std::vector<std::size_t> top = whole.ranking;
    top.resize(std::min(top.size(), with.top));
    CHECK(pruned.ranking == top);
    return true;
}

#ifdef VRAMFIT_SANITIZED
constexpr int kSpaces = 5;
#else
constexpr int kSpaces = 50;
#endif

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
         q.device.usable = q.device.usable + Bytes{4 * kMiB}) {
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

TEST_CASE("sweep: several questions keep their rows and share a ranking") {
    Random random(21);
    std::vector<SweepQuestion> questions;
    for (const Plan plan : {lora_torch, full_torch, qlora_paged}) {
        SweepQuestion& q = questions.emplace_back();
        q.stack = stack_from("").stack;
        q.device = device_from("1GiB");
        q.model = tiny_model(random);
        plan(random, q);
        q.space = tiny_space(random, q.model, q.base.peft.has_value());
    }
    SweepOptions all;
    all.top = 0;
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
