// The list of refusals.
#include "model/preferences/ppo/refusals.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "vramfit/spec/version.hpp"

namespace vramfit::model {

namespace {

void refuse(std::vector<Problem>& problems, const char* where, std::string what, const char* hint) {
    problems.push_back({where, std::move(what), hint});
}

/// The trainer, and what shares its work.
void refuse_trainer(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    if (plan.preference.maker != TrainerMaker::trl)
        refuse(problems, "trl.trainer", "PPO by another trainer than trl's own is not supported", "trl");
    if (!run.stack.ppo_is_known())
        refuse(problems, "loop.kind",
               run.stack.trl >= Version{1, 10, 0}
                   ? fmt::format("trl {} has no PPOTrainer", text_of(run.stack.trl))
                   : fmt::format("PPOTrainer of trl {} with transformers {} is not supported", text_of(run.stack.trl),
                                 text_of(run.stack.transformers)),
               "--stack axolotl-0.19, with trl 1.9 and transformers 5");
    if (plan.distributed)
        refuse(problems, "distributed", "PPO on several GPUs or with DeepSpeed is not supported", "one GPU");
    if (plan.evaluation)
        refuse(problems, "training.eval_strategy",
               "evaluation of PPO, which generates completions of other rows, is not supported", "leave it out");
    if (plan.training.use_liger_kernel || plan.training.cut_cross_entropy || plan.training.optimizer_in_backward)
        refuse(problems, "training", "PPO with another trainer's kernels, loss or optimizer is not supported",
               "leave use_liger_kernel, cut_cross_entropy and optimizer_in_backward out");
}

/// How the policy was loaded and prepared.
void refuse_policy(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    const LoadPlan& load = plan.load;
    if (run.spec.recording || run.spec.mixture)
        refuse(problems, "model", "recorded networks and mixtures of experts in PPO are not supported",
               "a dense model of one of the families");
    if (load.attention != AttentionImplementation::sdpa || load.sdpa_kernel || load.sdpa_expand_kv)
        refuse(problems, "load.attn_implementation",
               "PPO with another attention than sdpa's own choice is not supported", "sdpa");
    if (load.resize_token_embeddings || load.upcast || load.cast_after_adapter || plan.trl_casting_to_bf16)
        refuse(problems, "load", "a resized vocabulary and casts by hand are not supported in PPO",
               "leave resize_token_embeddings, upcast, cast_after_adapter and peft_module_casting_to_bf16 out");
    if (plan.prepare_kbit)
        refuse(problems, "prepare_kbit",
               "prepare_model_for_kbit_training is not supported in PPO, whose rollout has no autocast",
               "leave it out");
    if (!load.quantization) return;
    if (load.quantization->method == QuantMethod::int8)
        refuse(problems, "load.quantization_config", "PPO with int8 weights is not supported", "4-bit weights");
    // peft_module_casting_to_bf16: norms in float32 before a head in bfloat16, without autocast.
    if (plan.training.bf16)
        refuse(problems, "training.bf16",
               "torch stops in the first generation: over 4-bit weights PPOTrainer makes the norms float32 where bf16 "
               "is asked for (expected scalar type Float but found BFloat16)",
               "bf16: false");
}

void refuse_adapters(const LoraPlan& peft, bool by_trainer, std::vector<Problem>& problems) {
    if (!by_trainer)
        refuse(problems, "trl.peft_config", "PPO of a model that has adapters already is not supported",
               "give the trainer a peft_config");
    if (peft.kind != AdapterKind::lora)
        refuse(problems, "peft.peft_type", "PPO with other adapters than LoRA is not supported", "LORA");
    if (peft.use_dora && peft.lora_dropout != 0)
        refuse(problems, "peft.lora_dropout", "DoRA with a dropout that trl switches off is not supported", "0");
    if (!peft.modules_to_save.empty() || !peft.target_parameters.empty())
        refuse(problems, "peft.modules_to_save",
               "modules that are trained whole beside adapters are not supported in PPO",
               "leave modules_to_save and target_parameters out");
}

}  // namespace

void refuse_in_ppo(const Run& run, std::vector<Problem>& problems) {
    refuse_trainer(run, problems);
    refuse_policy(run, problems);
    if (run.plan.peft) refuse_adapters(*run.plan.peft, run.plan.trl_makes_adapters, problems);
    if (run.plan.value_model && run.plan.value_model->quantization)
        refuse(problems, "loop.value_model.quantization_config",
               "a value model with quantized weights, which is trained, is not supported", "weights in 16 or 32 bits");
    if (run.plan.value_model && run.plan.value_model->attention != AttentionImplementation::sdpa)
        refuse(problems, "loop.value_model.attn_implementation",
               "a value model with another attention than sdpa is not supported", "sdpa");
    for (const SecondNetwork& reward : run.plan.reward_models)
        if (reward.attention != AttentionImplementation::sdpa)
            refuse(problems, "loop.reward_models.0.attn_implementation",
                   "a reward model with another attention than sdpa is not supported in PPO", "sdpa");
}

}  // namespace vramfit::model
