// What trl's trainers that generate groups of completions were not compared with.
#include "model/preferences/grpo/refusals.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/ops/row_order.hpp"
#include "model/causal_lm/classification.hpp"
#include "model/parallel/zero_plan.hpp"
#include "spec/listed.hpp"
#include "spec/network/generation_config.hpp"
#include "spec/network/rewritten/generation.hpp"
#include "spec/own_trainers.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::model {

namespace {

/// Families whose generation was compared.
constexpr std::string_view kGenerating[] = {
    "arcee", "cohere",  "cohere2", "gemma", "gemma2", "gemma3_text", "glm4",     "gpt2",    "gpt_neox",  "granite",
    "llama", "mistral", "olmo2",   "phi3",  "qwen2",  "qwen3",       "seed_oss", "smollm3", "starcoder2"};

/// What generation by vLLM in the same process was not compared with: peft merges adapters for it at each step.
template <class Refuse>
void refuse_beside_vllm(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    const ZeroPlan* const zero = zero_of(plan);
    if (plan.distributed && !plan.distributed->as<DdpPlan>() && !(zero && zero->stage < 3))
        refuse("training.use_vllm",
               "generation by vLLM where parameters are cut into shards, which are gathered for it, is not supported",
               "DistributedDataParallel, or ZeRO's stage 2");
    if (plan.load.quantization)
        refuse("training.use_vllm",
               "generation by vLLM with quantized weights is not supported: peft merges the adapters into them and "
               "quantizes them anew with each step",
               "weights in 16 bits, or generation by transformers");
    if (!plan.peft) return;
    if (plan.peft->use_dora) refuse("peft.use_dora", "DoRA with generation by vLLM is not supported", "false");
    if (plan.peft->lora_bias) refuse("peft.lora_bias", "it is not supported with generation by vLLM", "false");
    if (!plan.peft->modules_to_save.empty())
        refuse("peft.modules_to_save", "it is not supported with generation by vLLM", "leave it out");
    for (const LoraTarget& target : lora_targets(run.spec, *plan.peft))
        if (target.module.part == ModulePart::embedding)
            return refuse("peft.target_modules", "adapters of the embedding with generation by vLLM are not supported",
                          "leave the embedding out");
}

/// What recorded networks that generate were not compared with.
template <class Refuse>
void refuse_with_recorded_generation(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    if (!run.stack.dpo_scores_in_chunks() || run.stack.generation_drops_whole_masks())
        refuse("stack",
               fmt::format("generation by recorded networks with trl {} and transformers {} was not compared yet",
                           text_of(run.stack.trl), text_of(run.stack.transformers)),
               "the default stack");
    if (plan.distributed)
        refuse("distributed", "generation by recorded networks on several GPUs was not compared yet", "one GPU");
    if (plan.evaluation)
        refuse("training.eval_strategy", "evaluation of recorded networks that generate was not compared yet",
               "leave it out");
    if (plan.preference.grpo.generates_by_vllm())
        refuse("training.use_vllm", "generation by vLLM was not compared with recorded networks yet",
               "generation by transformers");
    if (plan.load.attention == AttentionImplementation::flash_attention_2)
        refuse("load.attn_implementation",
               "generation with the package flash_attn was not compared with recorded networks yet", "sdpa");
    if (plan.training.use_liger_kernel)
        refuse("training.use_liger_kernel",
               "Liger's kernels were not compared with recorded networks that generate yet", "leave it out");
    if (!plan.reward_models.empty())
        refuse("loop.reward_models", "reward models were not compared with recorded networks that generate yet",
               "functions in Python");
}

/// How tokens are drawn.
template <class Refuse>
void refuse_in_sampling(const TrainPlan& plan, const Refuse& refuse) {
    const GrpoPlan& grpo = plan.preference.grpo;
    if (!grpo.generates_by_vllm() && grpo.top_k > engine::kMostSortedInPlace)
        refuse("training.top_k",
               fmt::format("more than {} tokens, whose order takes another sort, are not supported",
                           engine::kMostSortedInPlace),
               "fewer");
    if (grpo.has_top_p &&
        plan.training.per_device_train_batch_size * grpo.generation_steps(plan.training.gradient_accumulation_steps) ==
            1)
        refuse("training.top_p", "a generation of one row, whose sums take another scan, is not supported", "two rows");
}

}  // namespace

bool has_compared_generation(const ModelSpec& spec) {
    return spec.recording ? network::can_generate(*spec.recording) : is_listed(kGenerating, spec.model_type);
}

bool generates_by_transformers(const TrainPlan& plan) {
    const LoopKind kind = plan.loop.kind;
    if (generates_rows(kind)) return !plan.preference.grpo.generates_by_vllm();
    if (kind == LoopKind::gkd) return plan.distillation.lmbda > 0;
    return has_value_model(kind);
}

bool has_windows_of_qwen(const ModelSpec& spec) { return spec.sliding_window && spec.model_type.starts_with("qwen"); }

namespace {

/// Whether config.json says so.
bool keeps_no_cache(const ModelSpec& spec) {
    return spec.recording ? !network::generation_config_of(*spec.recording).keeps_cache : !spec.use_cache;
}

}  // namespace

void refuse_generation(const ModelSpec& spec, std::vector<Problem>& problems) {
    const bool generates = has_compared_generation(spec);
    if (!generates || has_windows_of_qwen(spec))
        problems.push_back(
            {"loop.kind",
             fmt::format("generation by {} {} was not compared yet", generates ? "windows of" : "networks of the type",
                         spec.model_type),
             "dense models are supported: llama, qwen2, qwen3, mistral, gemma3_text, phi3, olmo3, exaone4, ..."});
    if (spec.rope_type == "dynamic" || spec.rope_type == "longrope")
        problems.push_back(
            {"model.rope_scaling", "frequencies that follow the length were not compared with generation", ""});
}

// transformers 5.17 generation/utils.py _prepare_generation_config: what the trainer leaves open is the checkpoint's
// generation_config.json's, and where there is none the configuration's.
void refuse_without_cache(const ModelSpec& spec, std::vector<Problem>& problems) {
    if (keeps_no_cache(spec))
        problems.push_back({"model.use_cache",
                            "generation by a model whose config.json has \"use_cache\": false is not supported: its "
                            "generation_config.json decides whether keys and values are kept",
                            "true, if generation_config.json does not say false as well"});
}

void refuse_in_groups(const Run& run, std::vector<Problem>& problems) {
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.push_back({where, std::move(what), hint});
    };
    const TrainPlan& plan = run.plan;
    if (plan.distributed && !by_ms_swift(plan) && !run.stack.dpo_scores_in_chunks())
        refuse("distributed",
               fmt::format("{} of trl {} on several GPUs is not supported", trainer_of(plan.loop.kind),
                           text_of(run.stack.trl)),
               "one GPU, or trl 1.16");
    refuse_generation(run.spec, problems);
    if (!generates_pairs(plan.loop.kind) && generates_by_transformers(plan)) refuse_without_cache(run.spec, problems);
    const bool packs = plan.load.attention == AttentionImplementation::flash_attention_2;
    if (plan.load.attention == AttentionImplementation::eager || plan.load.sdpa_kernel || plan.load.sdpa_expand_kv)
        refuse("load.attn_implementation",
               "generation with another attention than flash_attention_2 and sdpa's own choice is not supported",
               "sdpa, flash_attention_2");
    if (packs && plan.batch.pairs.prompt.size() > 1 &&
        plan.preference.grpo.generation_steps(plan.training.gradient_accumulation_steps) != 1)
        refuse("batch.prompt_length",
               "the package flash_attn packs tokens, and which prompts share a batch is drawn at random",
               "padded: true, or batches that are generated one at a time");
    if (plan.load.quantization && plan.load.quantization->method == QuantMethod::int8)
        refuse("load.quantization_config", "generation with int8 weights is not supported", "4-bit weights");
    const GrpoPlan& grpo = plan.preference.grpo;
    refuse_in_sampling(plan, refuse);
    if (grpo.generates_by_vllm()) refuse_beside_vllm(run, refuse);
    if (run.spec.recording) refuse_with_recorded_generation(run, refuse);
    if (plan.training.fp16) refuse("training.fp16", "GRPO and RLOO with fp16 are not supported", "bf16");
}

}  // namespace vramfit::model
