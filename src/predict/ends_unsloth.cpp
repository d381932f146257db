// unsloth and unsloth_zoo 2026.10.7.
#include "predict/ends_unsloth.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "model/unsloth/kernel_loss_rows.hpp"
#include "model/unsloth/loss_parts.hpp"
#include "predict/unsloth_on_card.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit {

namespace {

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

/// Tokens of the largest batch.
std::int64_t most_tokens(const TrainPlan& plan) {
    const std::vector<std::int64_t> rows = row_lengths(plan);
    if (rows.empty()) return tokens_of_batch(plan);
    return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

/// The largest allocation of a window.
std::int64_t largest_request(const Program& program, std::size_t window) {
    const bool is_last = window + 1 >= program.windows.size();
    const std::size_t end = is_last ? program.events.size() : program.windows[window + 1].first_event;
    std::int64_t out = 0;
    for (std::size_t i = program.windows[window].first_event; i < end; ++i) {
        const Event& event = program.events[i];
        if (event.kind == EventKind::alloc) out = std::max(out, program.allocations[event.id].bytes);
    }
    return out;
}

/// The most tokens whose loss is cut into fewer parts; 0: there are none.
std::int64_t most_with_fewer_parts(const ModelSpec& model, const TrainPlan& plan, std::int64_t tokens) {
    const auto parts = [&](std::int64_t of) {
        return model::loss_part_count(model, plan, of, plan.unsloth.on_card.loss_bytes);
    };
    const std::int64_t all = parts(tokens);
    std::int64_t low = 0, high = tokens;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (parts(middle) < all ? low : high) = middle;
    }
    return low;
}

/// What a loss that is compiled takes more with fewer tokens: 1, 4, 8 parts; the less a batch exceeds what is taken at
/// once, the smaller its parts (unsloth_zoo 2026.10.7 fused_losses/cross_entropy_loss.py get_chunk_size).
std::int64_t more_of_parts(const ModelSpec& model, const TrainPlan& plan, std::int64_t tokens) {
    const std::int64_t fewer = most_with_fewer_parts(model, plan, tokens);
    const auto largest_part = [&](std::int64_t of) {
        return of == 0 ? 0 : ceil_div(of, model::loss_part_count(model, plan, of, plan.unsloth.on_card.loss_bytes));
    };
    constexpr std::int64_t kBytesOfLogit = 4;  // in 16 bits, and their gradient
    return kBytesOfLogit * model.vocab_size * (largest_part(fewer) - largest_part(tokens));
}

/// The same of a loss by kernels: fewer tokens may come with the whole vocabulary at once.
std::int64_t more_of_kernels(const ModelSpec& model, const TrainPlan& plan, const Device& device, std::int64_t tokens) {
    const model::HeadSizes head = model::head_of(model, plan);
    const auto taken = [&](std::int64_t of) {
        return model::kernel_loss_bytes(head, device, of, plan.unsloth.on_card.loss_bytes);
    };
    std::int64_t most = 0;
    for (const std::int64_t fewer : {model::kFewestInTiles - 1, tokens})
        if (fewer <= tokens) most = std::max(most, taken(fewer));
    return most - taken(tokens);
}

}  // namespace

// A batch that is shorter leaves blocks behind which the next one's tensors do not fit into: at worst the largest one
// finds no place among what is free. Its loss may be cut into larger parts.
void add_shorter_batches(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device,
                         const Program& program, const Timeline& timeline, Assumptions& all) {
    const bool says_all = !plan.batch.lengths.empty() && !plan.batch.longest_meet;
    if (says_all || plan.unsloth.packing || timeline.windows.empty()) return;
    const std::int64_t tokens = most_tokens(plan);
    const bool by_kernels = stack.unsloth_scores_by_kernels();
    std::int64_t loss = 0;
    std::size_t highest = 0;
    for (std::size_t i = 0; i < timeline.windows.size(); ++i) {
        const WindowLevels& window = timeline.windows[i];
        if (window.peak.requested > timeline.windows[highest].peak.requested) highest = i;
        if (window.phase.kind == PhaseKind::head) loss = std::max(loss, window.peak.requested);
    }
    const std::int64_t more =
        by_kernels ? more_of_kernels(model, plan, device, tokens) : more_of_parts(model, plan, tokens);
    const std::int64_t of_fewer = loss + std::max<std::int64_t>(0, more);
    const std::int64_t excess = std::max<std::int64_t>(0, of_fewer - timeline.windows[highest].peak.requested);
    all.push_back({AssumptionKind::workspace, Bytes{}, Bytes{}, Bytes{excess + largest_request(program, highest)},
                   "how far batches differ in their tokens: with fewer of them the loss may be cut into larger parts, "
                   "and blocks of one batch may be too small for the next",
                   by_kernels
                       ? "unsloth_zoo 2026.10.9, fused_losses/fused_linear.py; replays of such rows"
                       : "unsloth_zoo 2026.10.7, fused_losses/cross_entropy_loss.py get_chunk_size; replays of such "
                         "rows",
                   "a run; or say how long the rows are (--row-lengths)"});
}

void add_unsloth(const ModelSpec& model, const TrainPlan& plan, Assumptions& all) {
    if (plan.loop.kind != LoopKind::unsloth) return;
    if (kept_by_xformers(model, plan).count > 0) all.push_back(xformers(model, plan));
    if (plan.load.quantization && (plan.unsloth.packed_checkpoint || model.packed_but_for))
        all.push_back(maps_of_packed(model));
    if (plan.unsloth.packing) all.push_back(lengths_of_segments(model, plan));
    if (plan.unsloth.layers_unknown && plan.load.quantization) all.push_back(layers_in_16_bits(model));
}

}  // namespace vramfit
