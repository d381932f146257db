// What contradicts or is not supported in a plan of several processes.
#include <algorithm>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

void check_trainer_arguments(const TrainingPlan& t, std::string_view method, Problems& problems) {
    const auto refuse = [&](const char* where) {
        problems.unsupported(where, fmt::format("not supported with {}", method), "leave it out");
    };
    if (t.cut_cross_entropy || t.optimizer_in_backward)
        refuse(t.cut_cross_entropy ? "training.cut_cross_entropy" : "training.optimizer_in_backward");
}

namespace {

/// Adapters that FSDP was compared with.
void check_fsdp_adapters(const TrainPlan& plan, Problems& problems) {
    if (!plan.peft) return;
    if (plan.load.quantization && has_more_than_matrices(*plan.peft))
        problems.unsupported("peft", "over packed weights under FSDP only LoRA's two matrices are supported",
                             "no use_dora, bias, lora_bias, modules_to_save, target_parameters");
}

/// FSDP2 was compared with it. FSDP1 was with units inside of what is recomputed (transformers up to 4.51), and with
/// units around it: with adapters (4.53) and with transformers 5.17.
bool knows_reentrant(const TrainPlan& plan, const Stack& stack) {
    const Fsdp1Plan* const fsdp = plan.distributed->as<Fsdp1Plan>();
    if (!fsdp) return true;
    const bool is_cut = fsdp->sharding_strategy != FsdpStrategy::no_shard && plan.distributed->shard_size() > 1;
    const bool by_layer = plan.peft || fsdp->wrap_policy != WrapPolicy::size_based;
    if (stack.fsdp2_is_known()) return is_cut && by_layer;
    return plan.peft ? stack.transformers < Version{5, 0, 0} : stack.layers_take_positional_arguments();
}

/// What FSDP was not compared with, or what the libraries refuse.
void check_fsdp(const TrainPlan& plan, const Stack& stack, bool activation_checkpointing, Problems& problems) {
    const TrainingPlan& t = plan.training;
    if (activation_checkpointing && t.gradient_checkpointing)
        problems.invalid("distributed.fsdp_config.activation_checkpointing",
                         "Trainer stops: it cannot be set together with gradient_checkpointing", "choose one of them");
    const bool reentrant = plan.checkpoints() && t.use_reentrant.value_or(stack.checkpointing_is_reentrant());
    // torch _post_backward_hook: the first layer's gradients end the one unit, which the layers before it need.
    const Fsdp1Plan* const fsdp1 = plan.distributed->as<Fsdp1Plan>();
    if (reentrant && fsdp1 && fsdp1->wrap_policy == WrapPolicy::none && !plan.peft)
        problems.invalid("training.gradient_checkpointing_kwargs",
                         "torch stops with reentrant checkpointing where layers are no units of their own (The size of "
                         "tensor a (0) must match the size of tensor b)",
                         "set use_reentrant to false, or auto_wrap_policy TRANSFORMER_BASED_WRAP");
    else if (reentrant && !knows_reentrant(plan, stack))
        problems.unsupported("training.gradient_checkpointing_kwargs",
                             "reentrant checkpointing is not supported with this setting of FSDP1 and this release",
                             "set use_reentrant to false");
    check_fsdp_adapters(plan, problems);
    if (t.optimizer_in_backward)
        problems.unsupported("training.optimizer_in_backward", "not supported with FSDP", "leave it out");
    check_fsdp_optimizer(plan, stack, problems);
    if (plan.distributed->load_on_device)
        problems.unsupported("distributed.load_on_device", "FSDP loads in host memory", "leave it out");
}

/// accelerate 1.15.0, utils/fsdp_utils.py fsdp2_apply_ac: calls the wrap policy, which is none.
void check_unwrapped(const Fsdp2Plan& fsdp, Problems& problems) {
    if (fsdp.wrap_policy != WrapPolicy::none || !fsdp.activation_checkpointing) return;
    problems.invalid("distributed.fsdp_config.activation_checkpointing",
                     "accelerate stops without a wrap policy ('NoneType' object is not callable)",
                     "auto_wrap_policy TRANSFORMER_BASED_WRAP, or training.gradient_checkpointing");
}

/// What the libraries refuse of context parallelism, and what it was not compared with.
void check_context(const TrainPlan& plan, const ContextPlan& context, Problems& problems) {
    constexpr const char* kContextSize = "distributed.cp_size";
    if (context.size == 1) return;
    // parallelism_config.py _validate_accelerator.
    if (plan.distributed->world_size % context.size != 0)
        problems.invalid(kContextSize,
                         fmt::format("accelerate stops: sequences cut over {} of {} processes (ParallelismConfig "
                                     "total_size does not match num_processes)",
                                     context.size, plan.distributed->world_size),
                         "a divisor of world_size (--gpus)");
    // transformers 5.17.0, trainer.py _prepare_context_parallel_inputs.
    if (plan.load.attention != AttentionImplementation::sdpa)
        problems.invalid("load.attn_implementation",
                         fmt::format("transformers stops: \"Context parallelism is supported only with SDPA attention, "
                                     "you are using {}.\"",
                                     name_of(plan.load.attention)),
                         "sdpa");
    // torch 2.11, _context_parallel/_load_balancer.py _HeadTailLoadBalancer: a part of the front and one of the back.
    if (plan.batch.sequence_length % (2 * context.size) != 0)
        problems.invalid("batch.sequence_length",
                         fmt::format("torch stops: {} tokens do not divide into 2 x {} parts, two for each process",
                                     plan.batch.sequence_length, context.size),
                         fmt::format("a multiple of {}", 2 * context.size));
    if (plan.distributed->as<Fsdp2Plan>()->cpu_offload)
        problems.unsupported("distributed.fsdp_config.cpu_offload",
                             "shards in host memory were not compared with context parallelism", "leave it out");
    if (plan.batch.attention_mask == AttentionMask::absent)
        problems.unsupported("batch.attention_mask",
                             "without a mask the parts of a cut sequence look like packed rows to transformers, which "
                             "was not compared",
                             "ones: what collators make");
}

/// Groups of processes within the whole.
void check_groups(const DistributedPlan& processes, Problems& problems) {
    const Fsdp1Plan* const fsdp1 = processes.as<Fsdp1Plan>();
    const Fsdp2Plan* const fsdp2 = processes.as<Fsdp2Plan>();
    if (processes.local_world_size > 0 && processes.world_size % processes.local_world_size != 0)
        problems.invalid(
            "distributed.local_world_size",
            fmt::format("{} processes do not fill nodes of {}", processes.world_size, processes.local_world_size),
            "a divisor of world_size (--gpus)");
    if (processes.local_world_size > 0 && !(fsdp1 && is_hybrid(fsdp1->sharding_strategy)))
        problems.invalid("distributed.local_world_size", "nodes make a difference to FSDP1's hybrid strategies only",
                         "sharding_strategy hybrid_shard, or leave it out");
    if (!fsdp2 || fsdp2->replicas == 1) return;
    constexpr const char* kReplicas = "distributed.dp_replicate_size";
    // parallelism_config.py _validate_accelerator.
    if (processes.world_size % (fsdp2->replicas * fsdp2->context.size) != 0)
        return problems.invalid(
            kReplicas,
            fmt::format("accelerate stops: {} groups{} of {} processes (ParallelismConfig "
                        "total_size does not match num_processes)",
                        fsdp2->replicas,
                        fsdp2->context.size > 1 ? fmt::format(" of {} that share a sequence", fsdp2->context.size) : "",
                        processes.world_size),
            "a divisor of world_size (--gpus)");
    // _validate_accelerator too: FSDP has to cut over some.
    if (processes.world_size == fsdp2->replicas)
        problems.invalid(kReplicas,
                         "accelerate stops: FSDP is enabled but the parallelism config has no dimension for FSDP to "
                         "shard across (both `dp_shard_size` and `cp_size` are 1)",
                         "fewer groups than processes, or no FSDP");
}

/// What FSDP1 was not compared with where nothing is cut: vectors in host memory, and flat ones, that are not cast.
void check_uncut(const TrainPlan& plan, const Fsdp1Plan& fsdp, Problems& problems) {
    const bool alone = is_hybrid(fsdp.sharding_strategy) && plan.distributed->shard_size() == 1;
    if (fsdp.sharding_strategy != FsdpStrategy::no_shard && !alone) return;
    if (fsdp.cpu_offload && (!plan.training.bf16 || plan.peft))
        problems.unsupported("distributed.fsdp_config.cpu_offload",
                             "what is not cut is kept in host memory in full training with bf16 only",
                             "--mixed-precision bf16 (training.bf16) without adapters, or full_shard");
    if (!fsdp.use_orig_params && !plan.training.bf16)
        problems.unsupported("distributed.fsdp_config.use_orig_params",
                             "flat parameters that are not cut are supported with bf16 only",
                             "--mixed-precision bf16 (training.bf16), or full_shard");
}

/// What is FSDP1's own.
void check_fsdp1(const TrainPlan& plan, const Stack& stack, const Fsdp1Plan& fsdp, Problems& problems) {
    if (plan.load.quantization) check_quantized_units(plan, *plan.load.quantization, problems);
    // _flat_param.py _writeback_orig_params.
    if (plan.load.quantization && keeps_gathered(fsdp.sharding_strategy) && fsdp.use_orig_params)
        problems.invalid("distributed.fsdp_config.sharding_strategy",
                         fmt::format("torch stops with packed weights: FSDP does not support changing the parameters "
                                     "between forward and backward for {}",
                                     is_hybrid(fsdp.sharding_strategy) ? "_HYBRID_SHARD_ZERO2" : "SHARD_GRAD_OP"),
                         is_hybrid(fsdp.sharding_strategy) ? "hybrid_shard" : "full_shard");
    check_uncut(plan, fsdp, problems);
    // torch 2.11 checkpoint_wrapper.py apply_activation_checkpointing: without a policy all modules are wrapped.
    if (fsdp.wrap_policy == WrapPolicy::size_based && fsdp.activation_checkpointing)
        problems.unsupported("distributed.fsdp_config.activation_checkpointing",
                             "what is checkpointed by its size is not supported",
                             "auto_wrap_policy TRANSFORMER_BASED_WRAP, or training.gradient_checkpointing");
    if (fsdp.wrap_policy == WrapPolicy::none && fsdp.activation_checkpointing)
        problems.unsupported("distributed.fsdp_config.activation_checkpointing",
                             "every module is checkpointed by itself without a wrap policy, which is not supported",
                             "auto_wrap_policy TRANSFORMER_BASED_WRAP, or training.gradient_checkpointing");
    check_fsdp1_adapters(plan, stack, fsdp, problems);
    // Before transformers 4.48 layers have rotary buffers of their own, which would be the root's.
    const bool knows_wrapping = fsdp.wrap_policy == WrapPolicy::transformer_based ||
                                (fsdp.wrap_policy == WrapPolicy::none && !stack.attention_in_classes());
    const bool plain =
        fsdp.use_orig_params && knows_wrapping &&
        (fsdp.sharding_strategy == FsdpStrategy::full_shard || fsdp.sharding_strategy == FsdpStrategy::shard_grad_op);
    if (!plain && !stack.fsdp2_is_known())
        problems.unsupported(
            "distributed.fsdp_config",
            "hybrid strategies, NO_SHARD, SIZE_BASED_WRAP, flat parameters in the optimizer and, before "
            "transformers 4.48, NO_WRAP are supported with torch 2.11, accelerate 1.15 and transformers "
            "5.17",
            "full_shard or shard_grad_op with use_orig_params, or the stack hf-2026-11");
    // torch 2.7 _runtime_utils.py _register_post_backward_reshard_only_hook waits for the gradients of all tensors in a
    // layer's arguments, which torch.utils._pytree then finds in the cache too.
    if (plan.peft && stack.pytrees_know_the_cache() && !plan.checkpoints())
        problems.unsupported(
            "training.gradient_checkpointing",
            "with transformers 4.50 to 4.55 a layer's keys and values keep the layers after it gathered in "
            "the backward, which is not supported",
            "checkpointing, which leaves no keys and values, or another stack");
    if (fsdp.activation_checkpointing && !stack.trainer_decides_about_cache())
        problems.unsupported("distributed.fsdp_config.activation_checkpointing",
                             "with transformers 4 torch stops where layers fill a cache, which the recomputation fills "
                             "once more (Recomputed values have different metadata)",
                             "training.gradient_checkpointing");
    else if (fsdp.activation_checkpointing && plan.peft && !plan.load.quantization)
        problems.invalid("distributed.fsdp_config.activation_checkpointing",
                         "torch stops: what is recomputed of an adapter has another dtype than what was saved",
                         "training.gradient_checkpointing");
}

/// Methods that SFTTrainer's step was compared with.
bool sft_is_known(const DistributedPlan& processes, const Stack& stack) {
    if (!stack.sft_of_processes_is_known()) return false;
    return processes.as<DdpPlan>() || processes.as<TpPlan>() || processes.as<Fsdp1Plan>() ||
           processes.as<Fsdp2Plan>() || processes.as<ZeroPlan>();
}

/// Methods that the steps of DPOTrainer, RewardTrainer, GRPOTrainer and RLOOTrainer were compared with.
bool preferences_are_known(const TrainPlan& plan, const Stack& stack) {
    const bool is_dpo = plan.loop.kind == LoopKind::dpo;
    if (by_ms_swift(plan))
        return (is_dpo || plan.loop.kind == LoopKind::reward) && stack.ms_swift_preferences_are_known() &&
               plan.distributed->as<DdpPlan>();
    if (plan.loop.kind == LoopKind::reward && !by_own_trainer(plan) && stack.dpo_scores_in_chunks())
        return plan.distributed->as<DdpPlan>() || (plan.distributed->as<ZeroPlan>() && !is_zero3(plan));
    const bool in_groups = generates_rows(plan.loop.kind) && !generates_pairs(plan.loop.kind);
    if ((!is_dpo && !in_groups) || !stack.dpo_scores_in_chunks() || by_own_trainer(plan)) return false;
    return plan.distributed->as<DdpPlan>() || plan.distributed->as<ZeroPlan>() || plan.distributed->as<Fsdp2Plan>();
}

/// What goes together of them.
void check_preferences_of_processes(const TrainPlan& plan, Problems& problems) {
    const Fsdp2Plan* const fsdp = plan.distributed->as<Fsdp2Plan>();
    if (plan.peft && (fsdp || is_zero3(plan)) &&
        (!plan.peft->modules_to_save.empty() || !plan.peft->target_parameters.empty()))
        problems.unsupported("peft.modules_to_save",
                             "modules that are saved as a whole, or adapters on bare parameters, which are cut and the "
                             "reference is without, are not supported",
                             "leave them out");
    if (plan.peft && plan.peft->use_dora && is_zero3(plan))
        problems.unsupported("peft.use_dora", "DoRA in preference training under ZeRO-3 is not supported",
                             "false, or ZeRO-2");
    if (!fsdp) return;
    if (fsdp->context.size > 1 || fsdp->replicas > 1 || fsdp->cpu_offload ||
        fsdp->prepared_by != FsdpPreparation::accelerate)
        problems.unsupported("distributed.fsdp_config",
                             "preference training with context parallelism, copies of shards, cpu_offload or axolotl's "
                             "own FSDP2 is not supported",
                             "leave them out");
}

}  // namespace

// Only transformers.Trainer wraps the network by itself in the way that is known here.
void check_distributed(const TrainPlan& plan, const Stack& stack, Problems& problems) {
    if (!plan.distributed) return;
    if (plan.distributed->rank >= plan.distributed->world_size)
        problems.invalid(
            "distributed.rank",
            fmt::format("{} of {} processes, which count from 0", plan.distributed->rank, plan.distributed->world_size),
            fmt::format("at most {}", plan.distributed->world_size - 1));
    if (plan.distributed->world_size == 1 && !plan.distributed->as<ZeroPlan>())
        problems.invalid("distributed.world_size", "one process takes no part in anything", "leave distributed out");
    const bool has_own_range =
        plan.distributed->as<Fsdp1Plan>() || (plan.distributed->as<ZeroPlan>() && stack.zero_is_known());
    if (!stack.ddp_is_known() && !has_own_range)
        problems.unsupported("distributed",
                             fmt::format("several processes with torch {} and transformers {} are not supported",
                                         text_of(stack.torch), text_of(stack.transformers)),
                             "choose a stack with torch 2.3 and transformers 4.43 or later");
    const DdpPlan* ddp = plan.distributed->as<DdpPlan>();
    if (ddp && ddp->static_graph && !stack.trainer_knows_static_graphs())
        problems.unsupported("distributed.ddp.ddp_static_graph",
                             fmt::format("transformers {} does not know it", text_of(stack.transformers)),
                             "choose a stack with transformers 5.6 or later");
    check_groups(*plan.distributed, problems);
    if (const Fsdp1Plan* fsdp = plan.distributed->as<Fsdp1Plan>()) {
        if (!stack.fsdp1_is_known())
            problems.unsupported(
                "distributed",
                "FSDP1 is supported with torch 2.3 to 2.11, and accelerate 0.33 and transformers 4.43 or later",
                "choose a stack from hf-2024-08 to hf-2026-11");
        check_fsdp(plan, stack, fsdp->activation_checkpointing, problems);
        check_fsdp1(plan, stack, *fsdp, problems);
    }
    if (const Fsdp2Plan* fsdp = plan.distributed->as<Fsdp2Plan>()) {
        if (!stack.fsdp2_is_known())
            problems.unsupported("distributed",
                                 "FSDP2 is supported with torch 2.11, accelerate 1.15 and transformers 5.17",
                                 "choose the stack hf-2026-11");
        check_fsdp(plan, stack, fsdp->activation_checkpointing, problems);
        check_unwrapped(*fsdp, problems);
        check_context(plan, fsdp->context, problems);
        check_axolotl(plan, stack, *fsdp, problems);
        if (plan.load.quantization) check_quantized_rows(plan, *plan.load.quantization, problems);
    }
    if (plan.distributed->as<TpPlan>()) check_tensor_parallel(plan, stack, problems);
    const PipelinePlan* const pipeline = plan.distributed->as<PipelinePlan>();
    if (pipeline) check_pipeline(plan, stack, *pipeline, problems);
    const bool casts_whole = plan.distributed->as<DdpPlan>() ||
                             (plan.distributed->as<ZeroPlan>() && !is_zero3(plan) && plan.distributed->load_on_device);
    if (plan.load.upcast && !casts_whole)
        problems.unsupported("load.upcast",
                             "casts around the preparation are supported with DistributedDataParallel, and with ZeRO "
                             "up to stage 2 where the model is loaded on the GPU",
                             "leave it out");
    const bool sft = plan.loop.kind == LoopKind::sft && sft_is_known(*plan.distributed, stack);
    const bool preferences = preferences_are_known(plan, stack);
    if (preferences) check_preferences_of_processes(plan, problems);
    const bool unsloth = plan.loop.kind == LoopKind::unsloth;  // plan_check_unsloth.cpp
    if (!pipeline && plan.loop.kind != LoopKind::trainer && !sft && !preferences && !unsloth)
        problems.unsupported(
            "distributed",
            plan.loop.kind == LoopKind::sft
                ? "trl's SFTTrainer is supported with DistributedDataParallel, FSDP and DeepSpeed, and "
                  "torch 2.10 or later only"
            : by_llama_factory(plan) ? "LLaMA-Factory's preference training is supported on one GPU only"
            : by_ms_swift(plan) ? "ms-swift's preference training is supported on one GPU, its DPO and reward models "
                                  "with DistributedDataParallel too"
            : plan.loop.kind == LoopKind::dpo
                ? "trl's DPOTrainer of 1.16 is supported with DistributedDataParallel, DeepSpeed's ZeRO and FSDP2 only"
            : plan.loop.kind == LoopKind::reward
                ? "trl's RewardTrainer of 1.16 is supported with DistributedDataParallel and "
                  "DeepSpeed's ZeRO up to stage 2 only"
            : generates_pairs(plan.loop.kind) || plan.loop.kind == LoopKind::prm || plan.loop.kind == LoopKind::bco
                ? "trl's OnlineDPOTrainer, PRMTrainer and BCOTrainer are supported on one GPU only"
            : generates_rows(plan.loop.kind) ? "trl's GRPOTrainer and RLOOTrainer of 1.16 are supported with "
                                               "DistributedDataParallel, DeepSpeed's ZeRO and FSDP2 only"
                                             : "several processes are supported with a Trainer's loop only",
            plan.loop.kind == LoopKind::reward ? "one GPU, or several with ZeRO-2" : "loop.kind trainer");
}

}  // namespace vramfit
