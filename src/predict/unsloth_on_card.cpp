// unsloth and unsloth_zoo 2026.10.7 and 2026.10.9: questions to torch.cuda.mem_get_info, in the order in which they are
// asked.
#include "predict/unsloth_on_card.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "model/record.hpp"
#include "model/unsloth/loss_parts.hpp"
#include "vramfit/predict/allocator.hpp"

namespace vramfit {

namespace {

/// The levels at a mark, if the run came so far.
const Levels* levels_at(const Timeline& timeline, std::string_view name) {
    for (const MarkLevels& mark : timeline.marks)
        if (mark.name == name) return &mark.now;
    return nullptr;
}

/// unsloth_zoo 2026.10.7, block_swap.py estimate_training_reserve_bytes: what Unsloth takes a step to need.
std::int64_t reserve_of_unsloth(const ModelSpec& model, const TrainPlan& plan, std::int64_t trained) {
    constexpr std::int64_t kBytesOfActivation = 48, kRowsOfLogits = 2048, kBytesOfTrained = 4 + 12;
    const std::int64_t tokens = plan.unsloth.max_seq_length.value_or(plan.batch.sequence_length);
    const std::int64_t all = tokens * model.hidden_size * kBytesOfActivation +
                             std::min(tokens, kRowsOfLogits) * model.vocab_size * 4 + trained * kBytesOfTrained;
    return all + all / 16 + 256 * kMiB;
}

/// unsloth 2026.10.7, models/_utils.py offload_embedding_if_tight: blocks that are reserved and unused are free too.
/// models/vision.py offload_spare_embeddings: none leaves one of several processes.
bool embedding_leaves(const ModelSpec& model, const TrainPlan& plan, std::int64_t trained, const Levels* levels,
                      Bytes usable) {
    if (model.tie_word_embeddings || plan.distributed || !levels) return false;
    return usable.count - levels->allocated < reserve_of_unsloth(model, plan, trained);
}

/// The least that cuts the loss alike: cards that cut it alike decide alike.
std::int64_t least_for_cut(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device,
                           std::int64_t bytes) {
    constexpr std::int64_t kMost = UnslothOnCard::kMostOfLoss;
    if (!plan.batch.lengths.empty()) return bytes;
    // Scored tokens are fewer by the rows; of padded ones, by what is padded.
    const std::int64_t rows = plan.training.per_device_train_batch_size;
    const std::int64_t tokens = tokens_of_batch(plan) - (stack.unsloth_scores_by_kernels() ? rows : 0);
    const auto cut = [&](std::int64_t with) { return model::loss_cut(model, plan, stack, device, tokens, with); };
    const auto here = cut(bytes);
    if (here == cut(kMost)) return kMost;
    std::int64_t low = 0, high = bytes;  // `low` cuts it otherwise
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (cut(middle) == here ? high : low) = middle;
    }
    return high;
}

/// Whether what could not be served was a buffer for the inputs of layers.
bool failed_in_buffers(const Program& program, const Timeline& timeline) {
    if (!timeline.out_of_memory || timeline.out_of_memory->event >= program.events.size()) return false;
    const Event& event = program.events[timeline.out_of_memory->event];
    if (event.kind != EventKind::alloc) return false;
    return program.ops[program.allocations[event.id].op] == "staging buffer";
}

}  // namespace

bool asks_card(const TrainPlan& plan, const Device& device) {
    return plan.loop.kind == LoopKind::unsloth && device.capacity_known;
}

UnslothOnCard decide_on_card(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device,
                             const Program& program, const Timeline& timeline, Bytes usable) {
    UnslothOnCard out;
    out.embedding_leaves_at_load = embedding_leaves(model, plan, 0, levels_at(timeline, "after_load"), usable);
    out.embedding_leaves_with_adapters =
        !out.embedding_leaves_at_load && !trained_ends(model, plan).embedding &&
        embedding_leaves(model, plan, program.trainable_parameters, levels_at(timeline, "after_adapter"), usable);
    // fused_losses/cross_entropy_loss.py _measured_target_gb; of 2026.10.9 fused_losses/fused_linear.py _budget_bytes:
    // half of it, when the first loss is computed.
    if (const Levels* levels = levels_at(timeline, kAsksForLoss))
        out.loss_bytes = least_for_cut(
            model, plan, stack, device,
            std::clamp<std::int64_t>((usable.count - levels->reserved) / 2, 1, UnslothOnCard::kMostOfLoss));
    // gradient_checkpointing.py DOUBLE_BUFFER_HEADROOM.
    constexpr std::int64_t kHeadroom = 512 * kMiB;
    if (const Levels* levels = levels_at(timeline, kAsksForSecondBuffer))
        out.second_buffer = usable.count - levels->reserved > kHeadroom;
    return out;
}

TrainPlan with_choices(const TrainPlan& plan, const UnslothOnCard& choices) {
    TrainPlan out = plan;
    out.unsloth.on_card = choices;
    return out;
}

namespace {

/// The run with these decisions.
UnslothRun run_with(const UnslothOnCard& choices, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                    const Device& device, const ReplayOptions& options) {
    UnslothRun out{choices, model::record(model, with_choices(plan, choices), stack, device), {}};
    out.timeline = replay(*out.program, options);
    return out;
}

/// Settles the decisions of a run whose timeline is that of its choices: recorded anew where another one is made.
/// `with_plenty` is the program of a run that has none of its own.
void settle_choices(UnslothRun& run, const Program* with_plenty, const ModelSpec& model, const TrainPlan& plan,
                    const Stack& stack, const Device& device, const ReplayOptions& options) {
    constexpr int kDecisions = 4;
    const auto program = [&]() -> const Program& { return run.program ? *run.program : *with_plenty; };
    // Each decision is asked for behind those before it: so many rounds settle all, whatever the first one begins with.
    for (int round = 0; round < kDecisions; ++round) {
        const UnslothOnCard next =
            decide_on_card(model, plan, stack, device, program(), run.timeline, *options.capacity);
        if (next == run.choices) break;
        run = run_with(next, model, plan, stack, device, options);
    }
    // gradient_checkpointing.py UnslothCheckpointFunction.forward: a buffer that finds no room does without the second.
    if (run.choices.second_buffer && failed_in_buffers(program(), run.timeline)) {
        UnslothOnCard single = run.choices;
        single.second_buffer = false;
        run = run_with(single, model, plan, stack, device, options);
    }
}

}  // namespace

UnslothRun run_on_card(const Program& program, Timeline timeline, const ModelSpec& model, const TrainPlan& plan,
                       const Stack& stack, const Device& device, const ReplayOptions& options) {
    UnslothRun out{plan.unsloth.on_card, {}, std::move(timeline)};
    settle_choices(out, &program, model, plan, stack, device, options);
    return out;
}

UnslothRun run_on_card(const UnslothOnCard& guess, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                       const Device& device, const ReplayOptions& options) {
    UnslothOnCard first = guess;
    // Named as this run names it, if it cuts its loss so.
    first.loss_bytes = least_for_cut(model, plan, stack, device, guess.loss_bytes);
    UnslothRun out = run_with(first, model, plan, stack, device, options);
    settle_choices(out, nullptr, model, plan, stack, device, options);
    return out;
}

UnslothOnCard hungrier(const UnslothOnCard& a, const UnslothOnCard& b) {
    UnslothOnCard out;
    out.embedding_leaves_at_load = a.embedding_leaves_at_load && b.embedding_leaves_at_load;
    const auto leaves = [](const UnslothOnCard& c) {
        return c.embedding_leaves_at_load || c.embedding_leaves_with_adapters;
    };
    out.embedding_leaves_with_adapters = !out.embedding_leaves_at_load && leaves(a) && leaves(b);
    out.loss_bytes = std::max(a.loss_bytes, b.loss_bytes);
    out.second_buffer = a.second_buffer || b.second_buffer;
    return out;
}

UnslothOnCard leaner(const UnslothOnCard& a, const UnslothOnCard& b) {
    UnslothOnCard out;
    out.embedding_leaves_at_load = a.embedding_leaves_at_load || b.embedding_leaves_at_load;
    out.embedding_leaves_with_adapters =
        !out.embedding_leaves_at_load && (a.embedding_leaves_with_adapters || b.embedding_leaves_with_adapters);
    out.loss_bytes = std::min(a.loss_bytes, b.loss_bytes);
    out.second_buffer = a.second_buffer && b.second_buffer;
    return out;
}

}  // namespace vramfit
