// What transformers and DeepSpeed refuse, and what is not known of them.
#include "spec/zero_check.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "vramfit/base/checked.hpp"

namespace vramfit {

namespace {

/// HfTrainerDeepSpeedConfig.fill_match: a number that is not Trainer's stops the run.
void check_zero_numbers(const ZeroPlan& zero, const TrainPlan& plan, Problems& problems) {
    const TrainingPlan& t = plan.training;
    const auto same = [&](const std::optional<std::int64_t>& given, std::int64_t wanted, const char* key) {
        if (given && *given != wanted)
            problems.invalid(fmt::format("distributed.deepspeed.{}", key),
                             fmt::format("{} does not match TrainingArguments, which make {}", *given, wanted),
                             "\"auto\"");
    };
    same(zero.micro_batch_size, t.per_device_train_batch_size, "train_micro_batch_size_per_gpu");
    same(zero.gradient_accumulation_steps, t.gradient_accumulation_steps, "gradient_accumulation_steps");
    if (zero.train_batch_size) {
        const std::int64_t sizes[] = {plan.distributed->world_size, t.per_device_train_batch_size,
                                      t.gradient_accumulation_steps};
        same(zero.train_batch_size, checked_product(sizes), "train_batch_size");
    }
    const double clip = zero.gradient_clipping.value_or(t.max_grad_norm);
    if (clip != 1 && clip != t.max_grad_norm)  // 1: also a key that is left out
        problems.invalid("distributed.deepspeed.gradient_clipping",
                         fmt::format("{:g} does not match max_grad_norm {:g}", clip, t.max_grad_norm), "\"auto\"");
    if (zero.bf16 && *zero.bf16 && !t.bf16)
        problems.invalid("distributed.deepspeed.bf16.enabled", "does not match training.bf16", "\"auto\"");
    if (zero.fp16 && *zero.fp16 && !t.fp16)
        problems.invalid("distributed.deepspeed.fp16.enabled", "does not match training.fp16", "\"auto\"");
}

/// accelerate 1.15.0 utils/deepspeed.py map_pytorch_optim_to_deepspeed: DeepSpeed's optimizers for host memory take the
/// place of Trainer's, with arguments of Adam for all of them; betas of AdEMAMix are three.
const char* stops_on_host(const std::string& optim) {
    if (optim == "adagrad") return "DeepSpeedCPUAdagrad.__init__() got an unexpected keyword argument 'adamw_mode'";
    if (optim == "lion_32bit" || optim == "paged_lion_32bit")
        return "DeepSpeedCPULion.__init__() got an unexpected keyword argument 'adamw_mode'";
    return optim.find("ademamix") == std::string::npos ? nullptr : "too many values to unpack (expected 2)";
}

/// integrations/deepspeed.py deepspeed_optim_sched: without a section `optimizer` Trainer makes its own; with one
/// `optim` is not looked at.
void check_zero_optimizer(const ZeroPlan& zero, const TrainPlan& plan, Problems& problems) {
    const std::string& optim = plan.training.optim;
    if (zero.own_optimizer) return;
    const bool on_host = zero.offload_optimizer && zero.force_ds_cpu_optimizer;
    if (const char* what = on_host ? stops_on_host(optim) : nullptr) {
        problems.invalid("training.optim", fmt::format("{} with an offloaded optimizer: it stops: {}", optim, what),
                         "another optimizer, or \"zero_force_ds_cpu_optimizer\": false in DeepSpeed's configuration");
    } else if (optim == "adagrad" && !plan.peft) {
        // deepspeed 0.19.8 runtime/zero: _initialize_optimizer_states makes Adagrad anew, with one group.
        problems.invalid("training.optim",
                         "adagrad under DeepSpeed: DeepSpeed stops: IndexError: list index out of range",
                         "another optimizer, or a section `optimizer` in DeepSpeed's configuration");
    } else if (optim == "none" || optim == "adagrad") {
        problems.unsupported("training.optim", fmt::format("{} under DeepSpeed is not supported", optim),
                             "adamw_torch, or a section `optimizer` in DeepSpeed's configuration");
    }
}

/// What ZeRO-3 was not compared with.
void check_zero3(const ZeroPlan& zero, const TrainPlan& plan, Problems& problems) {
    if (zero.stage != 3) return;
    const TrainingPlan& t = plan.training;
    const auto refuse = [&](const char* where, const char* what, const char* hint) {
        problems.unsupported(where, what, hint);
    };
    if (zero.offload_param && !zero.offload_optimizer)
        refuse("distributed.deepspeed.zero_optimization.offload_param",
               "offloaded parameters are supported with an offloaded optimizer", "offload both");
    if (t.cut_cross_entropy)
        refuse("training.cut_cross_entropy",
               "DeepSpeed stopped in traces with ZeRO-3 (Cannot free a ZeRO-3 Parameter while it is still active in "
               "submodules)",
               "leave it out, ZeRO-2, or training.use_liger_kernel");
    if (t.optimizer_in_backward) refuse("training.optimizer_in_backward", "DeepSpeed steps by itself", "leave it out");
    if (plan.load.resize_token_embeddings)
        refuse("load.resize_token_embeddings", "not supported with ZeRO-3", "leave it out");
    if (plan.peft && plan.load.quantization &&
        (plan.peft->use_dora || plan.peft->lora_bias || plan.peft->bias != LoraBias::none ||
         !plan.peft->modules_to_save.empty() || !plan.peft->target_parameters.empty()))
        refuse("peft", "with ZeRO-3 over quantized weights only LoRA's two matrices are supported",
               "no use_dora, bias, lora_bias, modules_to_save, target_parameters");
    if (plan.peft && !plan.peft->modules_to_save.empty() && zero.offload_param)
        refuse("peft.modules_to_save", "not supported with offloaded parameters", "leave one of them out");
    if (plan.peft && plan.peft->bias != LoraBias::none && zero.offload_param)
        refuse("peft.bias", "not supported with offloaded parameters", "leave one of them out");
}

/// What DeepSpeed 0.14 was compared with: one process, float16, all weights trained.
void check_zero_of_2024(const ZeroPlan& zero, const TrainPlan& plan, Problems& problems) {
    const auto refuse = [&](const char* where, const char* what, const char* hint) {
        problems.unsupported(where, what, hint);
    };
    if (plan.distributed->world_size > 1)
        refuse("distributed.world_size", "several processes are not supported with DeepSpeed 0.14",
               "the stack hf-2026-11, or one process");
    if (!zero.fp16.value_or(plan.training.fp16) || zero.bf16.value_or(plan.training.bf16))
        refuse("distributed.deepspeed.fp16", "DeepSpeed 0.14 is supported in fp16 only",
               "\"fp16\": {\"enabled\": \"auto\"} and training.fp16 true");
    if (!zero.own_optimizer)
        refuse("distributed.deepspeed.optimizer", "DeepSpeed 0.14 is supported with an optimizer of its own",
               "\"optimizer\": {\"type\": \"AdamW\"}");
    if (plan.peft) refuse("peft", "adapters are not supported with DeepSpeed 0.14", "leave it out");
    if (zero.stage == 3 && !plan.distributed->load_first)
        refuse("distributed.load_first", "zero.Init of DeepSpeed 0.14 is not supported",
               "true: the network is loaded before TrainingArguments are made");
    if (plan.checkpoints() && !plan.training.use_reentrant.value_or(true))
        refuse("training.gradient_checkpointing_kwargs", "DeepSpeed 0.14 is supported with reentrant checkpointing",
               "leave use_reentrant out");
    const bool offloads = zero.offload_optimizer || zero.offload_param;
    if (zero.stage == 3 ? offloads : zero.stage == 1 || !offloads)
        refuse("distributed.deepspeed.zero_optimization",
               "DeepSpeed 0.14 is supported as ZeRO-3 without and as ZeRO-2 with an offloaded optimizer",
               "one of them");
    if (plan.training.gradient_accumulation_steps > 1)
        refuse("training.gradient_accumulation_steps", "DeepSpeed 0.14 is supported without accumulation", "1");
    if (zero.gradient_clipping.value_or(plan.training.max_grad_norm) > 0 && !zero.clips_by_default)
        refuse("distributed.deepspeed.gradient_clipping", "DeepSpeed 0.14 is supported without clipping",
               "leave the key out");
}

/// What DeepSpeed casts parameters to.
std::optional<DType> cast_of(const ZeroPlan& zero, const TrainPlan& plan) {
    if (zero.fp16.value_or(plan.training.fp16)) return DType::float16;
    if (zero.bf16.value_or(plan.training.bf16)) return DType::bfloat16;
    return {};
}

/// Without bf16 and fp16 trained weights keep the dtype they have, which should be one.
void check_zero_without_cast(const ZeroPlan& zero, const TrainPlan& plan, Problems& problems) {
    if (cast_of(zero, plan)) return;
    if (plan.load.dtype == DType::float16)
        problems.unsupported("load.dtype", "weights in float16 are supported under DeepSpeed with fp16 or bf16 only",
                             "--mixed-precision fp16 (training.fp16), or --dtype bfloat16 (load.dtype)");
    if (plan.peft && zero.stage < 3 &&
        (plan.peft->use_dora || plan.peft->lora_bias || plan.peft->bias != LoraBias::none ||
         !plan.peft->modules_to_save.empty() || !plan.peft->target_parameters.empty()))
        problems.unsupported("peft", "without bf16 or fp16 only LoRA's two matrices are supported up to ZeRO-2",
                             "--mixed-precision bf16 (training.bf16), or no use_dora, bias, lora_bias, "
                             "modules_to_save, target_parameters");
}

/// What DeepSpeed 0.19 was compared with.
void check_zero_of_2026(const ZeroPlan& zero, const TrainPlan& plan, Problems& problems) {
    const auto refuse = [&](const char* where, const char* what, const char* hint) {
        problems.unsupported(where, what, hint);
    };
    if (plan.distributed->world_size == 1)
        refuse("distributed.world_size", "one process is not supported with DeepSpeed 0.19", "two or more");
    check_zero_without_cast(zero, plan, problems);
}

/// Weights of bitsandbytes.
void check_zero_quantized(const ZeroPlan& zero, const TrainPlan& plan, const Stack& stack, Problems& problems) {
    if (!plan.load.quantization) return;
    const QuantizationPlan& quantization = *plan.load.quantization;
    if (stack.zero_is_of_2024())
        return problems.unsupported("load.quantization_config",
                                    "quantized weights are not supported with DeepSpeed 0.14", "leave it out");
    // DeepSpeedEngine._cast_module_mixed_precision casts whatever is floating.
    const std::optional<DType> cast = cast_of(zero, plan);
    if (cast && quantization.method != QuantMethod::int8 && is_floating(quantization.storage) &&
        quantization.storage != *cast)
        problems.unsupported("load.quantization_config.bnb_4bit_quant_storage",
                             fmt::format("DeepSpeed would cast packed weights from {} to {}, which destroys them",
                                         name_of(quantization.storage), name_of(*cast)),
                             "leave it out");
}

}  // namespace

void check_zero(const TrainPlan& plan, const Stack& stack, Problems& problems) {
    const auto* zero = plan.distributed ? plan.distributed->as<ZeroPlan>() : nullptr;
    if (!zero) return;
    check_zero_numbers(*zero, plan, problems);
    check_zero_optimizer(*zero, plan, problems);
    const auto refuse = [&](const char* where, const char* what, const char* hint) {
        problems.unsupported(where, what, hint);
    };
    if (!stack.zero_is_known())
        problems.unsupported("distributed",
                             fmt::format("DeepSpeed with torch {} and transformers {} is not supported",
                                         text_of(stack.torch), text_of(stack.transformers)),
                             "choose a stack with torch 2.11, transformers 5.17 and DeepSpeed 0.19.8 (hf-2026-11), or "
                             "hf-2024-04 with DeepSpeed 0.14.2");
    check_zero3(*zero, plan, problems);
    if (stack.zero_is_of_2024())
        check_zero_of_2024(*zero, plan, problems);
    else
        check_zero_of_2026(*zero, plan, problems);
    check_zero_quantized(*zero, plan, stack, problems);
    if (plan.distributed->load_on_device && is_zero3(plan))
        refuse("distributed.load_on_device", "zero.Init has cut what is loaded under ZeRO-3", "leave it out");
}

// transformers 5.17.0, integrations/deepspeed.py deepspeed_optim_sched.
void note_replaced_optimizer(const TrainPlan& plan, Notes& notes) {
    const auto* zero = plan.distributed ? plan.distributed->as<ZeroPlan>() : nullptr;
    const std::string& optim = plan.training.optim;
    if (!zero || !zero->own_optimizer || optim == "adamw_torch" || optim == "adamw_torch_fused") return;
    notes.push_back({NoteKind::without_effect,
                     fmt::format("{} is not used: DeepSpeed's configuration has an optimizer of its own", optim),
                     "a configuration without a section `optimizer` (--deepspeed FILE)"});
}

}  // namespace vramfit
