// The verdict over all that is not known: what a run needs beside both ends of what a card has.
#include "predict/ends.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "model/parallel/ddp/ddp.hpp"
#include "model/record.hpp"
#include "predict/ends_unsloth.hpp"
#include "predict/ends_vllm.hpp"
#include "predict/unsloth_on_card.hpp"
#include "vramfit/predict/allocator.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

namespace {

// docs/differences.md: blocks that were not split to the byte, and what follows, vary by up to 1 % from one trace of a
// job to the next, as ProcessGroupNCCL's watchdog gets round to letting go of tensors.
constexpr std::int64_t kTimingPart = 100;

Assumption timing(const Device& device) {
    return {AssumptionKind::timing,
            Bytes{},
            Bytes{},
            Bytes{device.usable.count / kTimingPart},
            "when NCCL's watchdog lets go of what was sent",
            "traces of one job differ by up to 1 % of what is reserved (docs/differences.md)",
            "torch.cuda.max_memory_reserved() in a first run of a few steps"};
}

// cudnn-frontend 1.x node/scaled_dot_product_flash_attention.h: dP's workspace is limited to 256 MB
// (CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT), dQ is accumulated in float32.
Assumption cudnn(const ModelSpec& model, const TrainPlan& plan) {
    const std::int64_t rows =
        plan.training.per_device_train_batch_size * (has_pairs(plan.loop.kind) ? 2 : 1);  // of a pair
    const std::int64_t queries = rows * plan.batch.sequence_length * model.num_attention_heads * model.head_dim;
    return {
        AssumptionKind::workspace,
        Bytes{},
        Bytes{},
        Bytes{256 * kMiB + 4 * queries},
        "the workspaces of cuDNN's attention",
        "cudnn-frontend's limit for dP and float32 for dQ",
        "torch.cuda.max_memory_reserved() in a first run, or choose --sdpa-kernel flash, whose workspaces are known"};
}

// On capability 9.0 they are counted (engine/ops/attention_cudnn.cpp).
bool has_unknown_workspaces(const TrainPlan& plan, const Device& device, const Program& program) {
    if (device.capability == Capability{9, 0}) return false;
    if (plan.load.sdpa_kernel != SdpaKernel::cudnn && device.capability.major != 10) return false;
    const auto name = std::find(program.ops.begin(), program.ops.end(), "aten::_scaled_dot_product_cudnn_attention");
    const auto number = static_cast<std::size_t>(name - program.ops.begin());
    return std::any_of(program.allocations.begin(), program.allocations.end(),
                       [number](const Allocation& one) { return one.op == number; });
}

/// Operations of 16 bits of all tensor cores in a second, at most: dense products of NVIDIA's whitepapers on each
/// architecture, for each multiprocessor and clock, by clocks above every card's.
double most_operations(const Device& device) {
    const double each = device.capability.major >= 10 && device.capability.major < 12 ? 8192
                        : device.capability.major == 9                                ? 4096
                        : device.capability == Capability{8, 0}                       ? 2048
                                                                                      : 1024;
    return each * 3e9 * device.multiprocessors;
}

// docs/several-gpus/ddp.md: the watchdog looks ten times a second; only then the first step's buckets go, while the
// second step has made its own.
constexpr double kWatchdog = 0.1;

bool forward_outlasts_watchdog(const TrainPlan& plan, const Device& device, const Program& program) {
    const auto tokens = static_cast<double>(plan.training.per_device_train_batch_size * plan.batch.sequence_length);
    // Two operations for a weight and a token; half of the weights, as embeddings are not multiplied.
    return static_cast<double>(program.total_parameters) * tokens > kWatchdog * most_operations(device);
}

Assumption old_buckets(const TrainPlan& plan, const Program& program) {
    const Bytes gradients = size_of(program.trainable_parameters, plan.peft ? DType::float32 : plan.load.dtype);
    return {AssumptionKind::ddp_buckets,
            Bytes{},
            Bytes{},
            gradients,
            "whether DDP's first buckets are still there in the second step",
            "NCCL's watchdog looks ten times a second (docs/several-gpus/ddp.md)",
            "the time of a step: in forwards of more than a tenth of a second they are gone"};
}

/// Whether the allocator does the same whatever the card has, as long as it has enough.
bool ignores_capacity(const ReplayOptions& options) {
    return options.settings.garbage_collection_threshold <= 0 && options.settings.memory_fraction >= 1.0 &&
           !options.memory_fraction;
}

/// Whether the program fits where tensors have `usable` bytes, given its replay on a card that is large enough, or
/// where that is not known: a replay of its own only where that one does not tell.
bool fits_in(const Program& program, const ReplayOptions& options, const Timeline& known, Bytes usable) {
    if (usable.count <= 0) return false;
    if (!known.out_of_memory) {
        if (known.peak.requested > usable.count) return false;
        const bool same = known.retries == 0 && ignores_capacity(options);
        if (same && known.peak.reserved <= usable.count) return true;
    }
    ReplayOptions there = options;
    there.capacity = usable;
    return !replay(program, there).out_of_memory;
}

/// Both ends over the assumptions about the card and the run. `timeline` is the replay under the device's usable
/// capacity, `unlimited` one on a card that is large enough.
VerdictEnds ends_of(const Program& program, const ReplayOptions& options, const Device& device,
                    const Assumptions& assumptions, const Timeline& timeline, const Timeline& unlimited) {
    if (!device.capacity_known) return {};
    const auto verdict_in = [&](Bytes usable) {
        return fits_in(program, options, unlimited, usable) ? Verdict::fits : Verdict::too_large;
    };
    const Bytes low = device.usable - at_worst(assumptions), high = device.usable + at_best(assumptions);
    if (timeline.out_of_memory)
        return {Verdict::too_large, high > device.usable ? verdict_in(high) : Verdict::too_large};
    return {low < device.usable ? verdict_in(low) : Verdict::fits, Verdict::fits};
}

/// What is not known of the card, and of a run on it: when collectives let go of tensors.
Assumptions assumptions_without_load(const ModelSpec& model, const TrainPlan& plan, const Device& device,
                                     const Program& program) {
    Assumptions all = device.assumptions;
    if (plan.distributed && plan.distributed->world_size > 1) all.push_back(timing(device));
    if (model::rebuilds_buckets(plan) && !forward_outlasts_watchdog(plan, device, program))
        all.push_back(old_buckets(plan, program));
    if (has_unknown_workspaces(plan, device, program)) all.push_back(cudnn(model, plan));
    add_unsloth(model, plan, all);
    widen_by_activations(model, plan, all);
    return all;
}

/// The same, and whose threads are first. `unlimited` is its replay on a card that is large enough.
Assumptions assumptions_of(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device,
                           const Program& program, const Timeline& unlimited) {
    Assumptions all = assumptions_without_load(model, plan, device, program);
    const Bytes load = most_of_load(model, plan, stack);
    if (load.count > unlimited.peak.reserved)
        all.push_back({AssumptionKind::load_order, Bytes{}, Bytes{}, load - Bytes{unlimited.peak.reserved},
                       "how far this version of transformers reads ahead of the quantizer",
                       "all weights before quantization, beside what training reserves",
                       "HF_DEACTIVATE_ASYNC_LOAD=1 (--async-load false) takes the race away"});
    return all;
}

/// What a run requests at most beside its loss, which is cut by what is free.
std::int64_t most_beside_loss(const Timeline& timeline) {
    std::int64_t most = 0;
    for (const WindowLevels& window : timeline.windows)
        if (window.phase.kind != PhaseKind::head) most = std::max(most, window.peak.requested);
    return most;
}

/// Both ends of a run whose decisions another size of the card would change: sure is what holds for the one that needs
/// the most of them, or the least.
VerdictEnds ends_over_choices(const UnslothRun& run, const UnslothOnCard& at_low, const UnslothOnCard& at_high,
                              const std::function<bool(const UnslothOnCard&, Bytes)>& fits, Bytes low, Bytes high) {
    const UnslothOnCard most = hungrier(hungrier(at_low, run.choices), at_high);
    const UnslothOnCard least = leaner(leaner(at_low, run.choices), at_high);
    if (run.timeline.out_of_memory) return {Verdict::too_large, fits(least, high) ? Verdict::fits : Verdict::too_large};
    // Whoever needs the most needs no less beside the loss.
    const bool may_fit = most_beside_loss(run.timeline) <= low.count;
    return {may_fit && fits(most, low) ? Verdict::fits : Verdict::too_large, Verdict::fits};
}

/// The same of Unsloth's loop, which asks how much memory is free. `program` is that of a run without one of its own.
Judged judge_unsloth(UnslothRun run, const Program* program, const ModelSpec& model, const TrainPlan& plan,
                     const Stack& stack, const Device& device) {
    const ReplayOptions options = allocator_of(stack, device);
    Judged out;
    out.program = std::move(run.program);
    const Program& own = out.program ? *out.program : *program;
    if (run.timeline.out_of_memory) out.unlimited = replay(own, without_limit(options));
    const Timeline& unlimited = out.unlimited ? *out.unlimited : run.timeline;
    out.assumptions = assumptions_of(model, plan, stack, device, own, unlimited);
    add_shorter_batches(model, with_choices(plan, run.choices), stack, device, own, unlimited, out.assumptions);
    const Bytes low = device.usable - at_worst(out.assumptions), high = device.usable + at_best(out.assumptions);
    const UnslothOnCard at_low = decide_on_card(model, plan, stack, device, own, run.timeline, low),
                        at_high = decide_on_card(model, plan, stack, device, own, run.timeline, high);
    if (at_low == run.choices && at_high == run.choices) {
        out.ends = ends_of(own, options, device, out.assumptions, run.timeline, unlimited);
    } else {
        const auto fits = [&](const UnslothOnCard& choices, Bytes usable) {
            if (usable.count <= 0) return false;
            ReplayOptions there = options;
            there.capacity = usable;
            return !replay(model::record(model, with_choices(plan, choices), stack, device), there).out_of_memory;
        };
        out.ends = ends_over_choices(run, at_low, at_high, fits, low, high);
    }
    out.on_card = std::move(run.timeline);
    return out;
}

}  // namespace

Judged judge_program(const Program& program, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                     const Device& device, Timeline on_card) {
    check_vllm_starts(model, plan, device);
    const ReplayOptions options = allocator_of(stack, device);
    if (asks_card(plan, device))
        return judge_unsloth(run_on_card(program, std::move(on_card), model, plan, stack, device, options), &program,
                             model, plan, stack, device);
    Judged out;
    out.on_card = std::move(on_card);
    if (out.on_card.out_of_memory) out.unlimited = replay(program, without_limit(options));
    out.assumptions = assumptions_of(model, plan, stack, device, program, out.whole());
    out.ends = ends_of(program, options, device, out.assumptions, out.on_card, out.whole());
    return out;
}

Judged judge_program(const Program& program, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                     const Device& device) {
    return judge_program(program, model, plan, stack, device, replay(program, allocator_of(stack, device)));
}

Judged judge_from(UnslothOnCard& guess, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                  const Device& device) {
    UnslothRun run = run_on_card(guess, model, plan, stack, device, allocator_of(stack, device));
    guess = run.choices;
    return judge_unsloth(std::move(run), nullptr, model, plan, stack, device);
}

SureRun surely_fits(const Program& program, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                    const Device& device) {
    check_vllm_starts(model, plan, device);
    const ReplayOptions options = allocator_of(stack, device);
    ReplayOptions worst = options;
    worst.capacity = device.usable - at_worst(assumptions_without_load(model, plan, device, program));
    // What is reserved is not known before a replay, but that it is no less than what is requested.
    const std::int64_t load = most_of_load(model, plan, stack).count;
    const bool plain = device.capacity_known && worst.capacity->count > 0 && ignores_capacity(options) &&
                       (load == 0 || load <= most_requested(program));
    if (!plain) {
        Timeline on_card = replay(program, options);
        if (on_card.out_of_memory && !asks_card(plan, device)) return {false, std::move(on_card)};
        Judged judged = judge_program(program, model, plan, stack, device, std::move(on_card));
        return {judged.ends.verdict() == Verdict::fits, std::move(judged.on_card)};
    }
    Timeline run = replay(program, worst);
    if (asks_card(plan, device)) {
        // What is decided on a card with plenty needs the most.
        const bool decides =
            decide_on_card(model, plan, stack, device, program, run, *worst.capacity) != UnslothOnCard{} ||
            decide_on_card(model, plan, stack, device, program, run, device.usable) != UnslothOnCard{};
        Assumptions more = assumptions_without_load(model, plan, device, program);
        if (!run.out_of_memory) add_shorter_batches(model, plan, stack, device, program, run, more);
        const std::int64_t left = device.usable.count - at_worst(more).count - run.peak.reserved;
        if (decides || left < 0) {
            Judged judged = judge_program(program, model, plan, stack, device);
            return {judged.ends.verdict() == Verdict::fits, std::move(judged.on_card)};
        }
    }
    if (run.out_of_memory) return {false, std::move(run)};
    // Without a limit of what is split, memory is given back in retries alone: a larger card changes nothing then.
    if (run.retries > 0 || options.settings.max_split_size != kNoSplitLimit) run = replay(program, options);
    const bool fits = !run.out_of_memory;
    return {fits, std::move(run)};
}

}  // namespace vramfit
