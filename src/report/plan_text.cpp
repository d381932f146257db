// A plan in a few words, every choice that memory depends on named.
#include "report/plan_text.hpp"

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "vramfit/spec/checkpointing.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/sizes.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::report {

namespace {

std::string targets(const TargetModules& modules) {
    if (const auto* text = std::get_if<std::string>(&modules)) return *text;
    return fmt::format("{}", fmt::join(std::get<std::vector<std::string>>(modules), " "));
}

std::string lora(const LoraPlan& plan, Axes axes) {
    std::string out =
        axes == Axes::listed
            ? fmt::format("rank and targets as listed, alpha {:g}, dropout {:g}", plan.lora_alpha, plan.lora_dropout)
            : fmt::format("r {}, alpha {:g}, dropout {:g} on {}", plan.r, plan.lora_alpha, plan.lora_dropout,
                          targets(plan.target_modules));
    if (plan.use_rslora) out += ", rslora";
    if (plan.use_dora) out += ", dora";
    if (!plan.options.token_indices.empty())
        out += fmt::format(", {} trained tokens", plan.options.token_indices.size());
    if (plan.block_diagonal) out += fmt::format(", BD-LoRA in {} blocks", plan.block_diagonal->blocks);
    if (plan.kasa) out += ", KaSA";
    if (plan.bias != LoraBias::none) out += fmt::format(", bias {}", name_of(plan.bias));
    if (!plan.modules_to_save.empty()) out += fmt::format(", saved whole: {}", fmt::join(plan.modules_to_save, " "));
    return out;
}

/// "ia3 over a 4-bit base: on k_proj v_proj down_proj".
std::string other_kind(const LoraPlan& plan, bool quantized, bool eight, Axes axes) {
    const AdapterKindFacts& facts = facts_of(plan.kind);
    std::string out(facts.name);
    if (quantized) out += eight ? " over an 8-bit base" : " over a 4-bit base";
    out += ": ";
    if (facts.has_rank()) out += axes == Axes::listed ? "rank as listed " : fmt::format("r {} ", plan.r);
    if (plan.kind == AdapterKind::trainable_tokens)
        return out + fmt::format("{} of the embedding's rows", plan.options.token_indices.size());
    if (plan.kind == AdapterKind::adaption_prompt)
        return out + fmt::format("{} tokens in the attention of the last {} layers", plan.options.adapter_len,
                                 plan.options.adapter_layers);
    if (facts.is_prompt) return out + fmt::format("{} virtual tokens", plan.options.virtual_tokens);
    if (plan.kind == AdapterKind::oft)
        out += plan.options.blocks == 0 ? fmt::format("blocks of {} ", plan.options.block_size)
                                        : fmt::format("{} blocks ", plan.options.blocks);
    out +=
        axes == Axes::listed ? std::string("on targets as listed") : fmt::format("on {}", targets(plan.target_modules));
    if (plan.lora_dropout != 0) out += fmt::format(", dropout {:g}", plan.lora_dropout);
    if (plan.bias != LoraBias::none) out += fmt::format(", bias {}", name_of(plan.bias));
    if (!plan.modules_to_save.empty()) out += fmt::format(", saved whole: {}", fmt::join(plan.modules_to_save, " "));
    return out;
}

std::string method(const TrainPlan& plan, Axes axes) {
    if (!plan.peft) return plan.load.quantization ? "quantized, no adapters" : "full";
    const auto& quantization = plan.load.quantization;
    const bool eight = quantization && quantization->method == QuantMethod::int8;
    if (plan.peft->kind != AdapterKind::lora) return other_kind(*plan.peft, quantization.has_value(), eight, axes);
    return fmt::format("{}: {}",
                       eight          ? "lora over an 8-bit base"
                       : quantization ? "qlora"
                                      : "lora",
                       lora(*plan.peft, axes));
}

std::string weights(const TrainPlan& plan) {
    std::string out(name_of(plan.load.dtype));
    if (plan.load.quantization) {
        const QuantizationPlan& q = *plan.load.quantization;
        const bool eight = q.method == QuantMethod::int8;
        out += fmt::format(" quantized to {}", name_of(q.method));
        if (!eight && q.double_quant) out += " with double quantization";
        if (!eight && q.storage != DType::uint8) out += fmt::format(", packed as {}", name_of(q.storage));
        if (!eight) out += fmt::format(", computing in {}", name_of(q.compute_dtype.value_or(DType::float32)));
    }
    if (plan.load.upcast) out += ", norms in float32 and back";
    if (plan.prepare_kbit) out += ", prepared for k-bit training";
    if (plan.load.moved_by_trainer)
        out += ", loaded in host memory, moved by Trainer";
    else if (!plan.load.on_device)
        out += ", loaded in host memory first";
    return out;
}

std::string checkpointing(const TrainPlan& plan, const Stack& stack) {
    if (plan.loop.kind == LoopKind::unsloth) {
        const std::int64_t most = plan.unsloth.max_seq_length.value_or(plan.batch.sequence_length);
        const bool plain =
            plan.unsloth.checkpointing == UnslothCheckpointing::plain || most < UnslothPlan::kFewestOffloaded;
        return plain ? "reentrant" : "Unsloth's, inputs of layers above 2 MiB wait in host memory";
    }
    const bool prepared = plan.prepare_kbit && plan.prepare_kbit->use_gradient_checkpointing;
    if (!plan.checkpoints() && !prepared) return "off";
    bool reentrant = stack.checkpointing_is_reentrant();
    if (prepared && plan.prepare_kbit->use_reentrant) reentrant = *plan.prepare_kbit->use_reentrant;
    if (const auto given = use_reentrant_of(plan, stack)) reentrant = *given;
    return reentrant ? "reentrant" : "non-reentrant";
}

/// What GKD generates.
std::string distilled(const DistillationPlan& plan) {
    const std::int64_t tokens = plan.generated.value_or(plan.max_new_tokens);
    if (plan.lmbda >= 1) return fmt::format(", {} tokens that the student generates", tokens);
    const char* const others = plan.seq_kd ? ", else the teacher" : "";
    if (plan.lmbda > 0) return fmt::format(", in some steps {} tokens that the student generates{}", tokens, others);
    return plan.seq_kd ? fmt::format(", {} tokens that the teacher generates", tokens) : ", completions of the data";
}

std::string batch(const TrainPlan& plan, Axes axes) {
    std::string out = axes == Axes::listed ? std::string("batch size and tokens as listed")
                                           : fmt::format("{} x {} tokens", plan.training.per_device_train_batch_size,
                                                         plan.batch.sequence_length);
    if (plan.training.gradient_accumulation_steps > 1)
        out += fmt::format(", accumulated {} times", plan.training.gradient_accumulation_steps);
    if (!plan.batch.lengths.empty() && axes != Axes::listed)
        return out + fmt::format(" at most, rows of {} tokens", fmt::join(row_lengths(plan), ", "));
    if (plan.loop.kind == LoopKind::reward) return out + ", pairs of a chosen and a rejected row";
    if (has_unpaired_rows(plan.loop.kind))
        return out + fmt::format(", a completion in each row, prompts of {} tokens",
                                 fmt::join(plan.batch.pairs.prompt, " and "));
    if (generates_rows(plan.loop.kind)) {
        const GroupRows rows = group_rows(plan);
        const char* const most = rows.pads ? "up to " : "";
        return out + fmt::format(", completions of {}{} tokens of prompts of {}{}, {} of each prompt", most,
                                 rows.completion, most, rows.prompt, plan.preference.grpo.num_generations);
    }
    if (has_value_model(plan.loop.kind)) {
        const std::int64_t prompt = plan.batch.pairs.prompt.front();
        return out + fmt::format(", responses of {} tokens to prompts of {}{}, {} epochs",
                                 plan.batch.sequence_length - prompt, plan.batch.pairs.padded ? "up to " : "", prompt,
                                 plan.preference.ppo.num_ppo_epochs);
    }
    if (plan.loop.kind == LoopKind::gkd) return out + distilled(plan.distillation);
    if (plan.loop.kind == LoopKind::prm) return out + ", a label for each token";
    if (is_preference(plan.loop.kind))
        return out + fmt::format(", pairs of a chosen and a rejected row, prompts of {} tokens",
                                 fmt::join(plan.batch.pairs.prompt, " and "));
    return out + fmt::format(", mask {}", name_of(plan.batch.attention_mask));
}

std::string attention(const LoadPlan& plan) {
    if (plan.attention != AttentionImplementation::sdpa) return std::string(name_of(plan.attention));
    return fmt::format("sdpa, kernel {}", plan.sdpa_kernel ? name_of(*plan.sdpa_kernel) : "as PyTorch chooses");
}

std::string processes(const DistributedPlan& plan) {
    std::string title(name_of(plan.method).title);
    if (const auto* zero = plan.as<ZeroPlan>()) {
        title += fmt::format("-{}", zero->stage);
        if (zero->offload_param) title += ", parameters in host memory";
        if (zero->offload_optimizer) title += ", optimizer in host memory";
    }
    if (const auto* fsdp = plan.as<Fsdp1Plan>()) {
        if (fsdp->sharding_strategy == FsdpStrategy::no_shard) title += ", not cut";
        if (!fsdp->use_orig_params) title += ", flat parameters";
    }
    if (plan.shard_size() < plan.world_size)
        title += plan.shard_size() > 1 ? fmt::format(", cut over {} of them", plan.shard_size()) : ", not cut";
    if (plan.shards_on_host()) title += ", parameters and optimizer in host memory";
    if (plan.world_size == 1) return fmt::format("one, {}", title);
    if (const auto* pipeline = plan.as<PipelinePlan>())
        return fmt::format(
            "{} with a GPU each, {}: {}, {} micro batches{}; this is process {}", plan.world_size, title,
            name_of(pipeline->schedule), pipeline->micro_batches,
            pipeline->virtual_stages > 1 ? fmt::format(", {} stages each", pipeline->virtual_stages) : "", plan.rank);
    if (plan.context_size() > 1)
        return fmt::format("{} with a GPU each, {}, sequences cut over {}; this is process {}", plan.world_size, title,
                           plan.context_size(), plan.rank);
    if (!plan.as<Fsdp2Plan>())
        return fmt::format("{} with a GPU each, {}; this is one of them", plan.world_size, title);
    if (plan.loads_as_last())
        return fmt::format("{} with a GPU each, {}; of each moment the process that needs the most", plan.world_size,
                           title);
    if (plan.rank_is_asked)
        return fmt::format("{} with a GPU each, {}; this is process {}", plan.world_size, title, plan.rank);
    if (plan.rank == 0)
        return fmt::format("{} with a GPU each, {}; this is the first, which needs the most", plan.world_size, title);
    return fmt::format("{} with a GPU each, {}; this is process {}, the first needs the most", plan.world_size, title,
                       plan.rank);
}

/// "qwen2.5-0.5b, bfloat16".
std::string second(const SecondNetwork& network) {
    const DType dtype = network.dtype.value_or(network.model.checkpoint_dtype.value_or(DType::float32));
    return fmt::format("{}, {}", network.model.name,
                       network.quantization ? std::string("in 4 bits") : std::string(name_of(dtype)));
}

std::string zero_optimizer(const ZeroPlan& zero) {
    switch (zero.optimizer) {
        case ZeroOptimizer::lion: return "DeepSpeed's Lion";
        case ZeroOptimizer::torch_adamw: return "torch's AdamW by DeepSpeed";
        case ZeroOptimizer::adamw: break;
    }
    return "DeepSpeed's AdamW";
}

}  // namespace

std::vector<Line> describe(const TrainPlan& plan, const Stack& stack, Axes axes) {
    const TrainingPlan& t = plan.training;
    const auto* zero = plan.distributed ? plan.distributed->as<ZeroPlan>() : nullptr;
    const std::string optimizer = zero && zero->own_optimizer ? zero_optimizer(*zero) : t.optim;
    const bool clips = !zero || !zero->clips_by_default || stack.deepspeed_clips_by_default();
    const double given = zero ? zero->gradient_clipping.value_or(t.max_grad_norm) : t.max_grad_norm;
    const double norm = clips && !has_value_model(plan.loop.kind) ? given : 0;  // PPOTrainer never clips
    const std::string clip = norm > 0 ? fmt::format("clipped at {:g}", norm) : "not clipped";
    std::vector<Line> lines = {
        {"method", method(plan, axes)},
        {"weights", weights(plan)},
        {"mixed precision", t.bf16   ? "bf16"
                            : t.fp16 ? "fp16"
                                     : "no"},
        {"checkpointing", checkpointing(plan, stack)},
        {"batch", batch(plan, axes)},
        {"attention", attention(plan.load)},
        {"optimizer", fmt::format("{}, gradients {}", optimizer, clip)},
        {"loop", fmt::format("{}, {} step{}{}", name_of(plan.loop.kind), plan.loop.steps,
                             plan.loop.steps == 1 ? "" : "s", t.use_liger_kernel ? ", Liger kernels" : "")},
        {"stack", fmt::format("{} ({})", stack.name, versions_of(stack))},
    };
    const auto add = [&lines](const char* what, std::string text) {
        lines.insert(lines.end() - 1, {what, std::move(text)});
    };
    for (const SecondNetwork& model : plan.reward_models) add("reward model", second(model));
    if (plan.value_model) add("value model", second(*plan.value_model));
    if (plan.teacher) add("teacher", second(*plan.teacher));
    if (plan.distributed) lines.insert(lines.end() - 1, {"processes", processes(*plan.distributed)});
    return lines;
}

std::string describe(const Device& device) {
    if (!device.capacity_known) return "none given (--gpu)";
    std::string out =
        device.name == text_of(device.total) ? device.name : fmt::format("{}, {}", device.name, text_of(device.total));
    out += fmt::format(": {} usable, {} CUDA context", text_of(device.usable), text_of(device.context));
    if (device.reserve.count > 0) out += fmt::format(", {} kept free", text_of(device.reserve));
    if (!device.alloc_conf.empty()) out += fmt::format(", allocator {}", device.alloc_conf);
    return out;
}

std::string describe(const Notes& notes, int width) {
    std::string out;
    for (const Note& note : notes) {
        out += wrapped(note.text, width, "note: ", "      ");
        if (!note.hint.empty()) out += wrapped(note.hint, width, "hint: ", "      ");
    }
    return out;
}

std::string versions_of(const Stack& stack) {
    std::string out;
    for (const std::string_view library : stack_libraries()) {
        const Version& version = version_of(stack, library);
        if (version == Version{}) continue;
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", library, text_of(version));
    }
    return out;
}

}  // namespace vramfit::report
