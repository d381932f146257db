// The list of refusals.
#include "model/supported.hpp"
#include "model/causal_lm/classification.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/causal_lm/fused_head.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/layers/family.hpp"
#include "model/layers/liger.hpp"
#include "model/losses/balancing_loss.hpp"
#include "model/parallel/context/context_parallel.hpp"
#include "model/parallel/pipeline/pipeline.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "model/parallel/zero_plan.hpp"
#include "model/preferences/refusals.hpp"
#include "model/second/refusals.hpp"
#include "model/unsloth/refusals.hpp"
#include "spec/liger.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::model {

namespace {

/// trl 1.16's fused head reads the head's weight; a batch whose only row is padded is cut by the collator.
void refuse_in_sft(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    if (plan.loop.kind != LoopKind::sft || run.stack.sft_prepares_model()) return;
    if (plan.batch.attention_mask == AttentionMask::right_padded && run.sizes.batch == 1)
        problems.push_back({"batch.attention_mask", "trl's collator cuts a padded row that stands alone",
                            "a shorter row without padding"});
    if (!plan.peft) return;
    for (const LoraTarget& target : lora_targets(run.spec, *plan.peft))
        if (target.module.part == ModulePart::head)
            problems.push_back({"peft.target_modules", "an adapted head under trl's fused head is not supported",
                                fmt::format("leave {} out", target.module.name)});
}

/// trl 1.16 kernels/chunked_logprob.py _addmm_fp32, torch 2.11 ATen/cuda/CUDABlas.cpp gemm.
void refuse_bfloat16_before_ampere(const Run& run, std::vector<Problem>& problems) {
    const TrainingPlan& training = run.plan.training;
    const bool in_bfloat16 = training.bf16 || (!training.fp16 && run.plan.load.dtype == DType::bfloat16);
    if (!scores_in_chunks(run) || !in_bfloat16 || run.session.device.capability >= Capability{8, 0}) return;
    if (run.plan.batch.sequence_length == 1) return;  // no token is scored, and nothing is multiplied
    problems.push_back({training.bf16 ? "training.bf16" : "load.dtype",
                        "torch stops in the first backward pass: gemm input type at::BFloat16 and output type float is "
                        "only supported for CUDA devices with compute capability 8.0 or higher",
                        "float32, or a newer GPU"});
}

/// transformers 4.48 cache_utils.py HybridCache.
void refuse_in_evaluation(const Run& run, std::vector<Problem>& problems) {
    if (run.plan.evaluation && run.spec.use_cache && run.spec.model_type == "gemma2" &&
        run.stack.gemma2_evaluates_with_hybrid_cache())
        problems.push_back({"training.eval_strategy",
                            "transformers 4.45 to 4.52 evaluate gemma2 with a HybridCache, which is not supported",
                            "a newer stack, \"use_cache\": false in the model's config.json, or no evaluation"});
}

/// Liger's functions by model_type; the fused loss reads the head's weight.
void refuse_in_liger(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    if (!uses_liger(run)) return;
    const auto refuse = [&](const char* what) {
        problems.push_back({"training.use_liger_kernel", what, "leave it out"});
    };
    if (!run.spec.recording && !liger_patches(run.spec.model_type))
        refuse(
            "Liger's kernels are supported for gemma, gemma2, gemma3_text, glm4, llama, mistral, olmo2, phi3, qwen2, "
            "qwen3 and smollm3");
    if (!run.stack.has_liger_of_its_time()) refuse("Liger's kernels are supported with transformers 5.16 and later");
    if (!run.stack.has_liger_0_8_5() && (run.spec.recording || (plan.distributed && !plan.distributed->as<DdpPlan>())))
        refuse("Liger 0.8.1 is supported for families, on one GPU or with DistributedDataParallel");
    const LoopKind kind = plan.loop.kind;
    const bool groups = kind == LoopKind::grpo || kind == LoopKind::rloo;
    const bool sft = kind == LoopKind::sft && run.stack.sft_scores_in_chunks() && run.stack.has_liger_0_8_5();
    const bool prefers = (kind == LoopKind::dpo || kind == LoopKind::kto || groups) &&
                         run.stack.dpo_scores_in_chunks() && run.stack.has_liger_0_8_5() && !by_llama_factory(plan) &&
                         !by_ms_swift(plan);
    if (kind != LoopKind::trainer && !sft && !prefers)
        refuse(
            "Liger's kernels are supported with transformers' own Trainer and trl 1.16's SFTTrainer, DPOTrainer, "
            "KTOTrainer, GRPOTrainer and RLOOTrainer");
    // The reference's modules stay as they are, but its rotary embeddings are a function of the modelling file.
    if (prefers && asks_reference(plan) && (!plan.peft || plan.preference.precompute_ref_log_probs))
        refuse("Liger's kernels beside a reference model, or with its scores before training, are not supported");
    if (prefers && plan.distributed) refuse("Liger's kernels with this trainer are not supported on several GPUs");
    if (!plan.peft || kind != LoopKind::trainer) return;
    for (const LoraTarget& target : lora_targets(run.spec, *plan.peft))
        if (target.module.name == "lm_head") refuse("an adapted head under Liger's fused loss is not supported");
}

/// axolotl-ai-cloud/ml-cross-entropy, transformers/: forwards that give hidden states and the head's weight, as they
/// are, to apply_lce.
void refuse_in_cut_loss(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    if (!plan.training.cut_cross_entropy) return;
    const auto refuse = [&](const char* what) {
        problems.push_back({"training.cut_cross_entropy", what, "leave it out"});
    };
    constexpr std::string_view kPlain[] = {"arcee", "llama", "mistral", "qwen2", "qwen3", "seed_oss", "smollm3"};
    if (!run.spec.recording && std::find(std::begin(kPlain), std::end(kPlain), run.spec.model_type) == std::end(kPlain))
        refuse(
            "cut cross entropy is supported for arcee, llama, mistral, qwen2, qwen3, seed_oss and "
            "smollm3");
    if (run.stack.attention_in_classes()) refuse("cut cross entropy is supported with transformers 5");
    if (!plan.peft) return;
    for (const LoraTarget& target : lora_targets(run.spec, *plan.peft))
        if (target.module.name == "lm_head") refuse("an adapted head under cut cross entropy is not supported");
}

/// Families whose layers were compared with methods that wrap or cut them.
void refuse_family_under(std::string_view method, bool ComparedWith::*compared, const Run& run,
                         std::vector<Problem>& problems) {
    if (family_of(run.spec.model_type).compared.*compared) return;
    std::vector<std::string_view> others;
    for (const Family* family : all_families())
        if (family->compared.*compared) others.push_back(family->model_type);
    problems.push_back({"model.model_type", fmt::format("{} is not supported with {}", run.spec.model_type, method),
                        fmt::format("supported: {}", fmt::join(others, ", "))});
}

/// Adapters were compared inside of the layers.
void refuse_outer_adapters_under(std::string_view method, const Run& run, std::vector<Problem>& problems) {
    if (!run.plan.peft) return;
    for (const LoraTarget& target : lora_targets(run.spec, *run.plan.peft))
        if (target.module.layer < 0)
            problems.push_back({"peft.target_modules",
                                fmt::format("an adapter of {} is not supported with {}", target.module.name, method),
                                "modules of the decoder layers"});
}

/// What gpt2 and mixtures of experts were compared with under ZeRO-3.
void refuse_around_leaves(const Run& run, std::vector<Problem>& problems) {
    if (!run.spec.mixture && run.spec.model_type != "gpt2") return;
    const std::string under = fmt::format("{} under ZeRO-3", run.spec.model_type);
    if (run.plan.load.quantization)
        problems.push_back({"load.quantization_config", fmt::format("quantized weights of {} are not supported", under),
                            "leave it out"});
    refuse_outer_adapters_under(under, run, problems);
    if (!run.plan.peft) return;
    const LoraPlan& lora = *run.plan.peft;
    const bool wraps = run.spec.model_type == "gpt_oss" && !lora.target_parameters.empty();
    if (wraps || lora.use_dora || lora.lora_bias || lora.bias != LoraBias::none || !lora.modules_to_save.empty())
        problems.push_back({"peft", fmt::format("with {} only LoRA's two matrices are supported", under),
                            wraps ? "no target_parameters" : "no use_dora, bias, lora_bias, modules_to_save"});
}

void refuse_in_zero(const Run& run, std::vector<Problem>& problems) {
    const ZeroPlan* zero = run.plan.distributed ? run.plan.distributed->as<ZeroPlan>() : nullptr;
    if (!zero) return;
    const std::string& type = run.spec.model_type;
    if (run.stack.zero_is_of_2024() && type != "qwen2")
        problems.push_back(
            {"model.model_type", fmt::format("{} is not supported with DeepSpeed 0.14", type), "qwen2 is"});
    if (zero->stage != 3) return;
    refuse_around_leaves(run, problems);
    const std::string& rope = run.spec.rope_type;
    if (!run.spec.recording && !rope.empty() && rope != "default" && rope != "llama3" && rope != "yarn" &&
        rope != "linear")
        problems.push_back(
            {"model.rope_scaling", fmt::format("{} is not supported with ZeRO-3", rope), "llama3, or no scaling"});
}

/// trl's fused head computes with the head's weight while the head itself does not run: what gathers a head that is
/// trained as a whole is around the head. torch 2.11 stops under FSDP1, whose unit it is ("mat2 must be a matrix").
void refuse_trained_head_in_sft(const Run& run, std::string_view version, std::vector<Problem>& problems) {
    if (run.plan.loop.kind != LoopKind::sft || !run.plan.peft) return;
    const std::string head = make_network(run.spec).head.name;
    for (const std::string& name : run.plan.peft->modules_to_save)
        if (head.ends_with(name))
            problems.push_back({"peft.modules_to_save",
                                fmt::format("a head that is trained as a whole is not supported with trl's SFTTrainer "
                                            "under {}",
                                            version),
                                fmt::format("leave {} out", name)});
}

void refuse_with_axolotl(const Run& run, const Fsdp2Plan& fsdp, std::vector<Problem>& problems) {
    refuse_outer_adapters_under("axolotl's preparation", run, problems);
    if (fsdp.activation_checkpointing && family_of(run.spec.model_type).layer != pre_norm_layer)
        problems.push_back(
            {"distributed.fsdp_config.activation_checkpointing",
             fmt::format("axolotl checkpoints the parts of layers, which is not supported for {}", run.spec.model_type),
             "gradient_checkpointing: true"});
}

void refuse_in_fsdp(const Run& run, std::vector<Problem>& problems) {
    const auto& processes = run.plan.distributed;
    if (!processes || (!processes->as<Fsdp1Plan>() && !processes->as<Fsdp2Plan>())) return;
    const std::string_view version = name_of(processes->method).title;
    if (processes->as<Fsdp2Plan>() && !run.spec.recording)
        refuse_family_under(version, &ComparedWith::fsdp2, run, problems);
    if (run.plan.load.quantization)
        refuse_outer_adapters_under("packed weights under FSDP", run, problems);
    else if (!run.stack.fsdp2_is_known())
        refuse_outer_adapters_under("FSDP1 of this release", run, problems);
    const Fsdp2Plan* const fsdp2 = processes->as<Fsdp2Plan>();
    if (fsdp2 && fsdp2->prepared_by == FsdpPreparation::axolotl) refuse_with_axolotl(run, *fsdp2, problems);
    refuse_trained_head_in_sft(run, version, problems);
    // torch 2.11 _flat_param.py _use_unsharded_views: the root's frozen parameters stay tensors after a backward pass.
    const Fsdp1Plan* const fsdp1 = processes->as<Fsdp1Plan>();
    const bool uncut = fsdp1 && (fsdp1->sharding_strategy == FsdpStrategy::no_shard || processes->shard_size() == 1);
    if (uncut && fsdp1->use_orig_params && run.plan.peft && run.spec.tie_word_embeddings)
        problems.push_back({"distributed.fsdp_config.sharding_strategy",
                            "torch stops in the second forward: under NO_SHARD a frozen weight that embedding and head "
                            "share is no parameter any more (as_params=True type(prim_param)=<class 'torch.Tensor'>)",
                            "full_shard, use_orig_params false, or kind ddp"});
    if (!ring_of(run.plan)) return;
    if (!run.spec.recording)
        refuse_family_under("context parallelism", &ComparedWith::context_parallelism, run, problems);
    // accelerate 1.15.0, big_modeling.py _attach_context_parallel_hooks.
    if (run.spec.sliding_window)
        problems.push_back({"model.sliding_window",
                            "accelerate stops: context parallelism does not support attention layers of type "
                            "['sliding_attention']",
                            "a network without sliding windows"});
    const std::string& rope = run.spec.rope_type;
    if (!run.spec.recording && !rope.empty() && rope != "default" && rope != "llama3" && rope != "linear")
        problems.push_back({"model.rope_scaling", fmt::format("{} is not supported with context parallelism", rope),
                            "llama3, linear, or no scaling"});
}

void refuse_in_tensor_parallelism(const Run& run, std::vector<Problem>& problems) {
    if (!is_tensor_parallel(run.plan)) return;
    if (!run.spec.recording)
        refuse_family_under("tensor parallelism", &ComparedWith::tensor_parallelism, run, problems);
    if (!run.plan.peft) return;
    for (const LoraTarget& target : lora_targets(run.spec, *run.plan.peft))
        if (!target.parameter.empty()) {
            problems.push_back({"peft.target_modules",
                                fmt::format("an adapter of {}.{} is not supported with tensor parallelism",
                                            target.module.name, target.parameter),
                                "linear layers"});
            break;
        }
}

void refuse_in_pipeline(const Run& run, std::vector<Problem>& problems) {
    if (!is_pipeline(run.plan)) return;
    if (!run.spec.recording) refuse_family_under("a pipeline", &ComparedWith::pipeline, run, problems);
    refuse_outer_adapters_under("a pipeline", run, problems);
    const DistributedPlan& processes = *run.plan.distributed;
    const std::int64_t stages = processes.world_size * processes.as<PipelinePlan>()->virtual_stages;
    if (stages > run.spec.num_hidden_layers)
        problems.push_back({"distributed.world_size",
                            fmt::format("more stages ({}) than layers ({})", stages, run.spec.num_hidden_layers),
                            "at most one stage for each layer"});
}

/// Where the loss that balances experts stops in the libraries, or was not compared.
void refuse_balancing(const Run& run, std::vector<Problem>& problems) {
    const LoopKind kind = run.plan.loop.kind;
    const bool sft = (kind == LoopKind::sft || loads_reference(kind)) && run.stack.sft_balances_experts();
    const char* const where = sft ? "training.router_aux_loss_coef" : "model.output_router_logits";
    const char* const hint = sft ? "0 switches it off" : "leave it out: transformers does not add it by default";
    const auto refuse = [&](std::string what) { problems.push_back({where, std::move(what), hint}); };
    // trl 1.16 trainer/sft_trainer.py SFTTrainer.__init__: a ValueError.
    if (sft && !run.spec.mixture && !run.spec.recording && run.plan.training.router_aux_loss_coef.value_or(0) != 0)
        refuse("trl stops: the model is not a mixture of experts, so there is no loss that balances them");
    if (!balances_experts(run)) return;
    bool any = false;
    for (std::int64_t layer = 0; layer < run.spec.num_hidden_layers; ++layer) any |= has_experts(run.spec, layer);
    if (!any && !run.spec.recording)
        refuse("transformers stops: no layer has experts whose router could be balanced (IndexError)");
    if (is_pipeline(run.plan) || ring_of(run.plan))
        refuse(fmt::format("the loss that balances experts is not supported with {}",
                           ring_of(run.plan) ? "context parallelism" : name_of(run.plan.distributed->method).title));
    if (uses_liger(run) || run.plan.training.cut_cross_entropy)
        refuse("the loss that balances experts is not supported where the loss is fused with the head");
}

/// What else of a plan recorded networks do not know; the check of plans has said the rest (plan_check_recorded.cpp).
void refuse_with_recording(const Run& run, std::vector<Problem>& problems) {
    if (!run.stack.loader_converts_tensors())
        problems.push_back(
            {"model", "recorded networks are supported with transformers 5", "choose a stack with transformers 5"});
    // Without autocast torch stops where routers stay in float32 and their inputs do not.
    if (run.plan.load.upcast && !run.plan.training.bf16 && !run.plan.training.fp16)
        problems.push_back({"load.upcast", "axolotl's casts without autocast were not compared with recorded networks",
                            "training.bf16 (axolotl: bf16: true)"});
    refuse_in_cut_loss(run, problems);
    refuse_in_fsdp(run, problems);
    refuse_in_zero(run, problems);
}

void refuse_release_of_mixtures(const Run& run, std::vector<Problem>& problems) {
    if (!run.spec.mixture) return;
    constexpr const char* kHint = "a stack with transformers 5.16 or later";
    const bool older = run.stack.experts_are_ordered_by_argsort();
    if (!run.stack.knows_mixtures() || (older && run.spec.model_type == "gpt_oss"))
        problems.push_back(
            {"model.model_type", "mixtures of experts of this release of transformers are not supported yet", kHint});
    else if (older && balances_experts(run))
        problems.push_back({"model.output_router_logits",
                            "the loss that balances experts is not supported with this release of transformers",
                            kHint});
}

void refuse_family(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    const Version exact_since = family_exact_since(run.spec.model_type);
    if (run.stack.transformers < exact_since)
        problems.push_back({"model.model_type",
                            fmt::format("{} is not supported with transformers {}", run.spec.model_type,
                                        text_of(run.stack.transformers)),
                            fmt::format("choose a stack with transformers {} or later", text_of(exact_since))});
    // modeling_utils.py _adjust_bias pads a copy while the head is tied.
    if (run.spec.head_bias && run.spec.tie_word_embeddings)
        problems.push_back({"model.tie_word_embeddings", "a head with a bias that shares its table is not supported",
                            "false, as in all published ones"});
    refuse_in_pipeline(run, problems);
    refuse_in_liger(run, problems);
    refuse_in_cut_loss(run, problems);
    refuse_in_fsdp(run, problems);
    refuse_in_zero(run, problems);
    refuse_in_tensor_parallelism(run, problems);
    if (run.spec.model_type == "phi3" && plan.load.attention == AttentionImplementation::sdpa &&
        !run.stack.phi3_knows_sdpa())
        problems.push_back({"load.attn_implementation", "this version of transformers has no sdpa for phi3",
                            "eager, or a stack with transformers 4.45 or later"});
    if (run.spec.model_type == "gemma2" && plan.load.attention == AttentionImplementation::sdpa &&
        !run.stack.gemma2_knows_sdpa())
        problems.push_back({"load.attn_implementation",
                            "transformers stops: from 5.21 on gemma2 has no sdpa, which knows no soft caps", "eager"});
    refuse_release_of_mixtures(run, problems);
    refuse_balancing(run, problems);
}

void refuse_in_flash_attention(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    if (plan.load.attention != AttentionImplementation::flash_attention_2) return;
    if (run.stack.flash_attention_wants_sinks())
        problems.push_back({"load.attn_implementation",
                            "transformers 5.6.0 stops in its first forward pass with flash_attention_2 "
                            "(\"'NoneType' object has no attribute 'to'\")",
                            "sdpa, or transformers 5.5 or 5.6.1 (--stack NAME,transformers=5.6.1)"});
    const AttentionMask mask = plan.batch.attention_mask;
    if (!generates_rows(plan.loop.kind) && mask != AttentionMask::absent && mask != AttentionMask::ones)
        problems.push_back({"batch.attention_mask",
                            "the package flash_attn packs the tokens of padded rows: how many there are is not known",
                            "\"ones\" or \"absent\", or sdpa"});
}

}  // namespace

void refuse_unsupported(const Run& run) {
    std::vector<Problem> problems;
    const TrainPlan& plan = run.plan;
    if (run.spec.recording)
        refuse_with_recording(run, problems);
    else
        refuse_family(run, problems);
    if (plan.peft && plan.peft->lora_bias && !run.stack.adapters_may_have_biases())
        problems.push_back({"peft.lora_bias", "this version of peft has no biases of adapters",
                            "choose a stack with peft 0.14 or later"});
    if (plan.training.optim.find("ademamix") != std::string::npos && !run.stack.knows_ademamix())
        problems.push_back({"training.optim", "this version of transformers does not know AdEMAMix",
                            "choose a stack with transformers 4.46 or later"});
    const bool sft = plan.loop.kind == LoopKind::sft;
    if (is_preference(plan.loop.kind)) refuse_in_preferences(run, problems);
    if (classifies_rows(run)) refuse_in_classification(run, problems);
    refuse_beside_networks(run, problems);
    if (sft && !run.stack.sft_prepares_model() && !run.stack.sft_scores_in_chunks())
        problems.push_back({"loop.kind", "trl's trainer of this version is not supported",
                            "\"trainer\" is transformers' own; SFTTrainer of trl 0.8, 1.15 and 1.16 is supported"});
    refuse_in_sft(run, problems);
    refuse_bfloat16_before_ampere(run, problems);
    refuse_in_evaluation(run, problems);
    refuse_in_unsloth(run, problems);
    refuse_in_flash_attention(run, problems);
    if (!problems.empty()) throw Error(ErrorKind::unsupported, std::move(problems));
}

}  // namespace vramfit::model
