// Random small questions: networks of two or three layers, runs of every kind, cards that some rows just fit.
#include "property/random_questions.hpp"

#include "model/record.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::test {

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
    // Exact, or with a few MiB that may or may not be there: a card's own ends are wider than these networks.
    const std::int64_t unknown = one<std::int64_t>(random, {0, 0, kMiB, 10 * kMiB});
    card.assumptions.clear();
    if (unknown > 0)
        card.assumptions.push_back({AssumptionKind::context, Bytes{}, Bytes{unknown / 2}, Bytes{unknown}, "", "", ""});
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

}  // namespace vramfit::test
