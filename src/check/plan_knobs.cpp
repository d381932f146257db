// The knobs of a run: each says what it costs.
#include "check/plan_knobs.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "spec/liger.hpp"
#include "vramfit/spec/devices.hpp"

namespace vramfit {

namespace {

// Shorter rows are hardly worth training on, smaller adapters hardly worth having.
constexpr std::int64_t kShortest = 128;
constexpr std::int64_t kLowestRank = 8;

using Knobs = std::vector<PlanKnob>;

PlanStep step(std::string title, std::vector<FlagValue> flags) { return {std::move(title), std::move(flags)}; }

void add(Knobs& out, std::string id, std::vector<PlanStep> steps) {
    if (!steps.empty()) out.push_back({std::move(id), std::move(steps)});
}

/// PyTorch's segments that grow leave no gaps between them.
void add_allocator(const Job& job, Knobs& out) {
    if (!of_process(job.device, job.plan).alloc_conf.empty()) return;
    add(out, "allocator",
        {step("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True in the environment: less is lost between blocks",
              {{"alloc-conf", "expandable_segments:True"}})});
}

/// Smaller batches that divide the one that is there.
void add_accumulation(const TrainingPlan& training, Knobs& out) {
    const std::int64_t rows = training.per_device_train_batch_size;
    std::vector<PlanStep> steps;
    for (std::int64_t fewer = rows - 1; fewer >= 1; --fewer) {
        if (rows % fewer != 0) continue;
        const std::int64_t batches = training.gradient_accumulation_steps * (rows / fewer);
        steps.push_back(
            step(fmt::format("batches of {} and {} of them accumulated: the same training, slower", fewer, batches),
                 {{"batch", std::to_string(fewer)}, {"accumulate", std::to_string(batches)}}));
    }
    add(out, "batch", std::move(steps));
}

void add_kernels(const Job& job, Knobs& out) {
    const TrainPlan& plan = job.plan;
    if (!plan.checkpoints())
        add(out, "checkpointing",
            {step("activations are computed again in the backward pass: about a third slower",
                  {{"checkpointing", "non-reentrant"}})});
    if (plan.load.attention == AttentionImplementation::eager)
        add(out, "attention", {step("attention that does not keep its scores", {{"attention", "sdpa"}})});
    const bool own_loop = plan.loop.kind == LoopKind::plain;
    if (!plan.training.use_liger_kernel && !own_loop && has_liger(job.model.model_type))
        add(out, "liger",
            {step("Liger's kernels, with which the logits are never whole (package liger-kernel)",
                  {{"use_liger_kernel", "true"}})});
}

/// peft's prepare_model_for_kbit_training casts what is not quantized to float32.
void add_preparation(const TrainPlan& plan, Knobs& out) {
    if (!plan.prepare_kbit) return;
    add(out, "prepare",
        {step("norms, embedding and head stay in 16 bits (without prepare_model_for_kbit_training)",
              {{"prepare-kbit", "false"}})});
}

void add_optimizer(const TrainingPlan& training, Knobs& out) {
    const std::string& name = training.optim;
    const bool small = name.starts_with("paged") || name == "sgd" || name == "adafactor" || name == "none";
    if (small) return;
    add(out, "optimizer",
        {step("optimizer states in 8 bits, paged to host memory where the GPU is full",
              {{"optim", "paged_adamw_8bit"}})});
}

/// A frozen base in fewer bits.
void add_quantization(const TrainPlan& plan, Knobs& out) {
    if (!plan.peft || !facts_of(plan.peft->kind).over_packed) return;
    const auto& quantization = plan.load.quantization;
    if (quantization && quantization->method != QuantMethod::int8) {
        if (!quantization->double_quant)
            add(out, "double_quant",
                {step("the scales of the 4-bit base are quantized too", {{"bnb_4bit_use_double_quant", "true"}})});
        return;
    }
    std::vector<PlanStep> steps;
    if (!quantization && plan.load.dtype == DType::float32)
        steps.push_back(step("the frozen base in bfloat16", {{"dtype", "bfloat16"}}));
    std::vector<FlagValue> qlora = {{"method", "qlora"}};
    if (quantization) qlora.push_back({"load_in_8bit", "false"});
    const char* const base =
        plan.peft->kind == AdapterKind::lora ? "the frozen base in 4 bits (QLoRA)" : "the frozen base in 4 bits";
    steps.push_back(step(base, qlora));
    qlora.push_back({"prepare-kbit", "false"});
    steps.push_back(step(fmt::format("{}, the rest of it in 16 bits", base), std::move(qlora)));
    add(out, "quantization", std::move(steps));
}

void add_smaller_sizes(const TrainPlan& plan, Knobs& out) {
    std::vector<PlanStep> steps;
    for (std::int64_t tokens = plan.batch.sequence_length / 2; tokens >= kShortest; tokens /= 2)
        steps.push_back(step(fmt::format("sequences of {} tokens: longer ones are cut or dropped", tokens),
                             {{"seq", std::to_string(tokens)}}));
    add(out, "length", std::move(steps));
    if (!plan.peft || !facts_of(plan.peft->kind).has_rank()) return;
    std::vector<PlanStep> ranks;
    for (std::int64_t rank = plan.peft->r / 2; rank >= kLowestRank; rank /= 2)
        ranks.push_back(step(fmt::format("adapters of rank {}", rank), {{"rank", std::to_string(rank)}}));
    add(out, "rank", std::move(ranks));
}

void add_adapters(const TrainPlan& plan, Knobs& out) {
    if (plan.peft) return;
    add(out, "adapters",
        {step("adapters are trained instead of all weights (LoRA)", {{"method", "lora"}}),
         step("adapters are trained instead of all weights, over a 4-bit base (QLoRA)", {{"method", "qlora"}}),
         step("adapters are trained instead of all weights, over a 4-bit base (QLoRA), the rest of it in 16 bits",
              {{"method", "qlora"}, {"prepare-kbit", "false"}})});
}

}  // namespace

std::vector<PlanKnob> plan_knobs(const Job& job) {
    Knobs out;
    add_allocator(job, out);
    add_accumulation(job.plan.training, out);
    add_kernels(job, out);
    add_preparation(job.plan, out);
    add_optimizer(job.plan.training, out);
    add_quantization(job.plan, out);
    add_smaller_sizes(job.plan, out);
    add_adapters(job.plan, out);
    return out;
}

}  // namespace vramfit
