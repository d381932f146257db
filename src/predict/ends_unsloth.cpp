// unsloth and unsloth_zoo 2026.10.7.
#include "predict/ends_unsloth.hpp"

#include <algorithm>

#include "vramfit/spec/modules.hpp"

namespace vramfit {

namespace {

std::int64_t tokens_of_batch(const TrainPlan& plan) {
    return plan.training.per_device_train_batch_size * plan.batch.sequence_length;
}

// unsloth 2026.10.7, utils/attention_dispatch.py: with xformers keys and values are copied for all heads.
Bytes kept_by_xformers(const ModelSpec& model, const TrainPlan& plan) {
    const std::int64_t heads = model.num_attention_heads - model.num_key_value_heads;
    return Bytes{4 * tokens_of_batch(plan) * heads * model.head_dim};
}

// Traces have torch's own attention, as the pinned wheels give it: xformers does not load there.
Assumption xformers(const ModelSpec& model, const TrainPlan& plan) {
    return {AssumptionKind::workspace,
            Bytes{},
            Bytes{},
            kept_by_xformers(model, plan),
            "whether xformers' attention loads, which keeps keys and values of all heads",
            "unsloth 2026.10.7, utils/attention_dispatch.py",
            "Unsloth's banner: with Xformers = None nothing more is needed"};
}

// bitsandbytes 0.50.2, functional.py QuantState.from_dict: each weight of a packed checkpoint has its own map of the
// scales' scales, 256 numbers in float32; those that are packed while they are loaded share one.
Assumption maps_of_packed(const ModelSpec& model) {
    constexpr std::int64_t kWeights = 7;  // of a layer
    return {AssumptionKind::workspace,
            Bytes{},
            Bytes{},
            Bytes{kWeights * model.num_hidden_layers * 1024},
            "whether the checkpoint's weights come in 4 bits, each with a map of its own",
            "bitsandbytes 0.50.2, functional.py QuantState.from_dict",
            "the checkpoint's config.json: with quantization_config they do"};
}

// unsloth 2026.10.7, utils/attention_dispatch.py _sdpa_packed_segments: each run of segments of one length has
// gradients of its own for all queries, keys and values, which are added up, two at a time.
Assumption lengths_of_segments(const ModelSpec& model, const TrainPlan& plan) {
    const std::int64_t heads = 3 * model.num_attention_heads;  // with keys and values repeated
    return {AssumptionKind::workspace,
            Bytes{},
            Bytes{},
            Bytes{2 * 2 * tokens_of_batch(plan) * heads * model.head_dim},
            "how long the samples are that a row is packed of",
            "unsloth 2026.10.7, utils/attention_dispatch.py: runs of different lengths are added up in backward",
            "packing=False, where rows are as long as the data has them"};
}

// A checkpoint that ends in -unsloth-bnb-4bit has any of its layers in 16 bits in place of 4.
Assumption layers_in_16_bits(const ModelSpec& model) {
    std::int64_t weights = 0;
    for (const NamedModule& module : modules_of(model))
        if (module.kind == ModuleKind::linear && module.part != ModulePart::head) weights += parameters_in(module);
    return {AssumptionKind::workspace,
            Bytes{},
            Bytes{},
            Bytes{2 * weights - weights / 2},
            "which layers Unsloth's dynamic 4-bit checkpoint has in 16 bits: none to all",
            "config.json of the checkpoint, quantization_config.llm_int8_skip_modules",
            "a run, or give the checkpoint's config.json with --model-config"};
}

/// unsloth_zoo 2026.10.7, block_swap.py: what Unsloth takes a step to need beside what is there behind the adapters.
std::int64_t reserve_of_unsloth(const ModelSpec& model, const TrainPlan& plan, const Program& program) {
    constexpr std::int64_t kBytesOfActivation = 48, kRowsOfLogits = 2048, kBytesOfTrained = 4 + 12;
    const std::int64_t tokens = plan.unsloth.max_seq_length.value_or(plan.batch.sequence_length);
    const std::int64_t all = tokens * model.hidden_size * kBytesOfActivation +
                             std::min(tokens, kRowsOfLogits) * model.vocab_size * 4 +
                             program.trainable_parameters * kBytesOfTrained;
    return all + all / 16 + 256 * kMiB;
}

// unsloth 2026.10.7, models/_utils.py offload_embedding_if_tight: what the head does not share moves to host memory.
bool embedding_leaves(const ModelSpec& model, const TrainPlan& plan, const Device& device, const Program& program,
                      const Timeline& unlimited) {
    if (model.tie_word_embeddings || !device.capacity_known) return false;
    std::int64_t allocated = 0;
    for (const WindowLevels& window : unlimited.windows)
        if (window.phase.kind == PhaseKind::adapters) allocated = window.end.allocated;
    return device.usable.count - allocated < reserve_of_unsloth(model, plan, program);
}

Assumption moved_embedding(const ModelSpec& model) {
    const Bytes embedding = size_of(model.vocab_size * model.hidden_size, DType::bfloat16);
    return {AssumptionKind::workspace,
            Bytes{},
            embedding,
            embedding,
            "whether the embedding waits in host memory, to which Unsloth moves it where little is left",
            "unsloth 2026.10.7, models/_utils.py offload_embedding_if_tight",
            "a run: Unsloth says when it moves the embedding"};
}

/// The inputs of a layer for all tokens, which come back from host memory into a buffer of that size.
Bytes staging_buffer(const ModelSpec& model, const TrainPlan& plan) {
    return size_of(tokens_of_batch(plan) * model.hidden_size, DType::bfloat16);
}

// unsloth_zoo 2026.10.7, gradient_checkpointing.py: a second buffer where more than 512 MiB (DOUBLE_BUFFER_HEADROOM)
// are free as the second forward pass begins.
bool may_keep_one_buffer(const ModelSpec& model, const TrainPlan& plan, const Device& device,
                         const Timeline& unlimited) {
    constexpr std::int64_t kLeastBytes = 2 * kMiB, kHeadroom = 512 * kMiB;
    if (plan.unsloth.checkpointing != UnslothCheckpointing::offloaded || !device.capacity_known) return false;
    if (staging_buffer(model, plan).count <= kLeastBytes) return false;
    std::int64_t reserved = 0;
    int forwards = 0;
    for (const WindowLevels& window : unlimited.windows) {
        if (window.phase.kind == PhaseKind::forward_layer && window.phase.layer == 0 && ++forwards == 2) break;
        reserved = window.end.reserved;
    }
    return device.usable_low().count - reserved <= kHeadroom;
}

Assumption second_buffer(const ModelSpec& model, const TrainPlan& plan) {
    const Bytes buffer = staging_buffer(model, plan);
    return {AssumptionKind::workspace,
            Bytes{},
            buffer,
            buffer,
            "whether Unsloth takes a second buffer for the inputs of layers, for which 512 MiB have to be free",
            "unsloth_zoo 2026.10.7, gradient_checkpointing.py",
            "a run: \"Double buffering enabled\" says that it has two"};
}

}  // namespace

void add_unsloth(const ModelSpec& model, const TrainPlan& plan, Assumptions& all) {
    if (plan.loop.kind != LoopKind::unsloth) return;
    if (kept_by_xformers(model, plan).count > 0) all.push_back(xformers(model, plan));
    if (plan.load.quantization && (plan.unsloth.packed_checkpoint || model.packed_but_for))
        all.push_back(maps_of_packed(model));
    if (plan.unsloth.packing) all.push_back(lengths_of_segments(model, plan));
    if (plan.unsloth.layers_unknown && plan.load.quantization) all.push_back(layers_in_16_bits(model));
}

void add_unsloth_on_card(const ModelSpec& model, const TrainPlan& plan, const Device& device, const Program& program,
                         const Timeline& unlimited, Assumptions& all) {
    if (plan.loop.kind != LoopKind::unsloth) return;
    if (embedding_leaves(model, plan, device, program, unlimited)) all.push_back(moved_embedding(model));
    if (may_keep_one_buffer(model, plan, device, unlimited)) all.push_back(second_buffer(model, plan));
}

}  // namespace vramfit
