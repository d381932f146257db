// What trl's trainers of preferences were not compared with.
#include "model/preferences/refusals.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/causal_lm/classification.hpp"
#include "model/causal_lm/fused_head.hpp"
#include "model/layers/liger.hpp"
#include "model/loading/load.hpp"
#include "model/preferences/contrast.hpp"
#include "model/preferences/grpo/refusals.hpp"
#include "model/preferences/ppo/refusals.hpp"
#include "model/preferences/rows.hpp"
#include "spec/network/model.hpp"
#include "spec/network/rewritten/score.hpp"
#include "spec/own_trainers.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::model {

namespace {

/// What RewardTrainer was not compared with.
template <class Refuse>
void refuse_in_rewards(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    if (has_no_classifier(run.spec) && by_ms_swift(plan))  // model/patcher.py _patch_sequence_classification
        refuse("model",
               fmt::format("transformers has no class of {} that classifies sequences, and the head that ms-swift puts "
                           "in its place is not supported",
                           run.spec.model_type),
               "another model");
    else if (has_no_classifier(run.spec))
        refuse("model",
               fmt::format("trl stops: transformers has no class of {} that classifies sequences, which a reward model "
                           "is (Unrecognized configuration class for this kind of AutoModel: "
                           "AutoModelForSequenceClassification)",
                           run.spec.model_type),
               "another model");
    if (uses_liger(run))
        refuse("training.use_liger_kernel", "Liger's kernels in a reward model are not supported", "leave it out");
    if (!plan.peft) return;
    for (const std::string& name : plan.peft->modules_to_save)
        if (name == "lm_head") refuse("peft.modules_to_save", "a reward model has no lm_head", "leave it out");
    for (const LoraTarget& target : lora_targets(run.spec, *plan.peft))
        if (target.module.part == ModulePart::head)
            refuse("peft.target_modules", "a reward model has no head of a language model", "leave it out");
}

/// Rows of evaluation are those of training, with their lengths.
template <class Refuse>
void refuse_in_evaluation(const TrainPlan& plan, const Refuse& refuse) {
    const EvaluationPlan& evaluation = *plan.evaluation;
    if (plan.distributed)
        refuse("training.eval_strategy", "evaluation of preferences on several GPUs is not supported", "leave it out");
    const PairLengths& pairs = plan.batch.pairs;
    const std::int64_t rows = evaluation.per_device_eval_batch_size;
    if (evaluation.sequence_length || evaluation.attention_mask)
        refuse("evaluation", "rows of other lengths than in training are not supported in evaluation of preferences",
               "leave sequence_length and attention_mask out");
    for (const auto* list : {&pairs.prompt, &pairs.chosen_shorter, &pairs.rejected_shorter})
        if (list->size() > 1 && static_cast<std::int64_t>(list->size()) != rows)
            return refuse("training.per_device_eval_batch_size",
                          "a length for each row, in evaluation with another number of rows, is not supported",
                          "one length for all rows");
    const auto labels = static_cast<std::int64_t>(pairs.desirable.size());
    if (has_unpaired_rows(plan.loop.kind) && labels > 1 && rows % labels != 0)
        refuse("training.per_device_eval_batch_size",
               fmt::format("{} labels for {} rows of evaluation: batches would differ", labels, rows),
               "a multiple of the labels");
}

/// ORPO and CPO.
template <class Refuse>
void refuse_in_contrast(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    if (plan.load.upcast && plan.peft && plan.trl_makes_adapters)
        refuse("load.upcast", "axolotl's casts are not supported before adapters that this trainer makes",
               "trl.peft_config: false, as axolotl has it");
    if (uses_liger(run))
        refuse("training.use_liger_kernel", "Liger's kernels with this trainer are not supported", "leave it out");
    if (!plan.peft || !plan.training.gradient_checkpointing) return;
    // enable_input_require_grads comes before get_peft_model: the embedding inside gets the hook.
    for (const LoraTarget& target : lora_targets(run.spec, *plan.peft))
        if (target.module.part == ModulePart::embedding)
            refuse("peft.target_modules",
                   "adapters of the embedding with gradient checkpointing are not supported with this trainer",
                   "leave the embedding out");
}

/// What a reference that the script loads was not compared with.
template <class Refuse>
void refuse_with_loaded_reference(const Run& run, bool own, const Refuse& refuse) {
    constexpr const char* kKey = "trl.ref_model";
    const TrainPlan& plan = run.plan;
    if (plan.preference.reference_source == ReferenceSource::trainer) return;
    if (own || run.stack.reference_is_like_policy())
        refuse(kKey, "a reference that the script loads is supported with trl 1.9's own trainers only",
               "--stack axolotl-0.19");
    if (plan.preference.reference_source == ReferenceSource::given && plan.loop.kind != LoopKind::dpo)
        refuse(kKey, fmt::format("{} with a reference that it is given is not supported", trainer_of(plan.loop.kind)),
               "unused, or leave it out");
    if (plan.distributed) refuse(kKey, "a reference that the script loads is not supported on several GPUs", "one GPU");
    if (plan.preference.precompute_ref_log_probs)
        refuse("training.precompute_ref_log_probs",
               "scores that a reference which the script loads gives before training, and stays, are not supported",
               "false");
}

/// What OnlineDPOTrainer was not compared with.
template <class Refuse>
void refuse_in_online(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    if (plan.load.attention == AttentionImplementation::flash_attention_2)
        refuse("load.attn_implementation", "online DPO with the package flash_attn is not supported", "sdpa");
    if (plan.evaluation) refuse("training.eval_strategy", "evaluation in online DPO is not supported", "leave it out");
    if (run.spec.mixture) refuse("model", "mixtures of experts in online DPO are not supported", "a dense model");
}

/// What BCOTrainer stops at or was not compared with.
template <class Refuse>
void refuse_in_bco(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    if (!run.stack.bco_is_known())
        refuse("loop.kind",
               run.stack.trl >= Version{1, 10, 0}
                   ? fmt::format("trl {} has no BCOTrainer", text_of(run.stack.trl))
                   : fmt::format("BCOTrainer of trl {} with transformers {} is not supported", text_of(run.stack.trl),
                                 text_of(run.stack.transformers)),
               "--stack axolotl-0.19 (trl 1.9); trl 0.29, and 0.24 with transformers 4, are supported too");
    if (completion_lengths(plan.batch).shortest < 2)
        refuse("batch.completion_length",
               "trl stops: list index out of range (_process_tokens looks for the end of an answer without tokens)",
               "2 tokens or more, of which the last is the end");
    const bool precomputes = plan.preference.precompute_ref_log_probs;
    // RunningMoments.mean is a whole number, 0, until the first step.
    if (plan.evaluation && plan.evaluation->on_start)
        refuse("training.eval_on_start", "torch stops in the first evaluation: mean(): could not infer output dtype",
               "false");
    if (plan.evaluation && precomputes)
        refuse("training.eval_strategy",
               "evaluation with scores of the reference that are made in it is not supported (get_eval_dataloader)",
               "precompute_ref_log_probs: false");
    TrainPlan made = plan;
    prepare_contrast(made);
    if (precomputes && made.trl_casting_to_bf16)
        refuse("training.precompute_ref_log_probs",
               "torch stops where the reference scores without autocast: hidden states are float32, and trl has made "
               "the head bfloat16 (expected mat1 and mat2 to have the same dtype)",
               "false, or adapters that are made before the trainer");
    refuse_in_contrast(run, refuse);
}

/// Trainer keeps what metrics are computed from on the GPU until eval_accumulation_steps batches are evaluated.
template <class Refuse>
void refuse_kept_logits(const EvaluationPlan& evaluation, const Refuse& refuse) {
    if (!evaluation.accumulation)
        refuse("training.eval_accumulation_steps",
               "without it, evaluation of a process reward model keeps the logits of all rows on the GPU, and how many "
               "there are the data decides",
               "1: logits go to the host after each batch");
    else if (evaluation.batches <= *evaluation.accumulation)
        refuse("evaluation.batches",
               fmt::format("the logits of {} batches are kept on the GPU, and {} are evaluated",
                           *evaluation.accumulation, evaluation.batches),
               "more than eval_accumulation_steps");
}

/// What PRMTrainer was not compared with; trl has it no more from 1.10 on.
template <class Refuse>
void refuse_in_process_rewards(const Run& run, const Refuse& refuse, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    if (run.stack.trl >= Version{1, 10, 0})
        refuse("loop.kind", fmt::format("trl {} has no trainer of process reward models", text_of(run.stack.trl)),
               "--stack axolotl-0.19 (trl 1.9), or --loop trainer with --task_type TOKEN_CLS --num_labels 2");
    if (plan.evaluation) refuse_kept_logits(*plan.evaluation, refuse);
    if (uses_liger(run))
        refuse("training.use_liger_kernel", "Liger's kernels in a process reward model are not supported",
               "leave it out");
    if (run.spec.mixture || run.spec.recording)
        refuse("model", "a process reward model of this network is not supported", "a dense model of a family");
    if (plan.peft && plan.peft->kind != AdapterKind::lora)
        refuse("peft.peft_type", "process reward models with other adapters than LoRA are not supported", "LORA");
    if (plan.peft && !plan.trl_makes_adapters)
        refuse("trl.peft_config", "a process reward model that has adapters already is not supported",
               "give the trainer a peft_config");
    refuse_token_classes(run, problems);
}

/// Of GKD what the student or the teacher cannot generate.
template <class Refuse>
void refuse_generation_in_distillation(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    const auto judge = [&](const ModelSpec& spec, const char* where) {
        if (!has_compared_generation(spec) || has_windows_of_qwen(spec) || spec.rope_type == "dynamic" ||
            spec.rope_type == "longrope")
            refuse(where,
                   fmt::format("generation by this network of the type {} was not compared yet", spec.model_type),
                   "lmbda 0 without seq_kd generates nothing");
    };
    if (plan.distillation.lmbda > 0) judge(run.spec, "training.lmbda");
    if (plan.distillation.lmbda < 1 && plan.distillation.seq_kd && plan.teacher)
        judge(plan.teacher->model, "training.seq_kd");
    if (plan.evaluation)
        refuse("training.eval_strategy", "evaluation in distillation is not supported", "leave it out");
}

/// What ms-swift's GRPO was not compared with, beside what trl's was not.
template <class Refuse>
void refuse_in_swift_groups(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    const GrpoPlan& grpo = plan.preference.grpo;
    if (grpo.generates_by_vllm())
        refuse("training.use_vllm", "generation by vLLM with ms-swift is not supported",
               "generation by transformers, or trl's GRPO with another stack");
    if (!plan.reward_models.empty())
        refuse("loop.reward_models", "reward models with ms-swift are not supported", "functions in Python");
    if (plan.load.attention == AttentionImplementation::flash_attention_2)
        refuse("load.attn_implementation", "the package flash_attn with ms-swift's GRPO is not supported", "sdpa");
    if (grpo.loss == GroupLoss::luspo || grpo.loss == GroupLoss::vespo)
        refuse("training.loss_type", fmt::format("ms-swift has no loss '{}'", name_of(grpo.loss)),
               "grpo, dapo, bnpo, dr_grpo, cispo, sapo");
    if (plan.preference.syncs_reference)
        refuse("training.sync_ref_model", "a reference that follows the policy is not supported", "leave it out");
    if (plan.batch.pairs.prompt.size() > 1 || plan.batch.pairs.chosen_shorter.size() > 1)
        refuse("batch.completion_length", "rows of several known lengths are not supported", "padded: true");
}

/// What ms-swift's own trainers were not compared with.
template <class Refuse>
void refuse_by_ms_swift(const Run& run, const Refuse& refuse) {
    const TrainPlan& plan = run.plan;
    if (!run.stack.ms_swift_preferences_are_known())
        refuse("trl.trainer", fmt::format("ms-swift's trainers with trl {} are not supported", text_of(run.stack.trl)),
               "the stack swift-4.6, with trl 0.29");
    const LoopKind kind = plan.loop.kind;
    if (kind != LoopKind::dpo && kind != LoopKind::reward && kind != LoopKind::kto && kind != LoopKind::grpo &&
        !is_contrast(kind))
        refuse("loop.kind", fmt::format("ms-swift's {} is not supported", trainer_of(kind)),
               "--loop dpo, reward, kto, orpo, cpo or grpo; trl's own with another stack");
    if (kind == LoopKind::grpo) refuse_in_swift_groups(run, refuse);
    if (plan.distributed && !plan.distributed->load_on_device)
        refuse("distributed.load_on_device", "ms-swift loads the model on each process's GPU", "true");
    if (uses_liger(run))
        refuse("training.use_liger_kernel", "Liger's kernels with this trainer are not supported", "leave it out");
    for (const PairLoss loss : plan.preference.loss_types) switch (loss) {
            case PairLoss::sigmoid:
            case PairLoss::hinge:
            case PairLoss::ipo:
            case PairLoss::apo_zero:
            case PairLoss::apo_down:
            case PairLoss::sft: break;
            default:
                refuse("training.loss_type", fmt::format("ms-swift's loss '{}' is not supported", name_of(loss)),
                       "supported: sigmoid, hinge, ipo, apo_zero, apo_down, sft");
        }
}

/// What recorded networks were not compared with. Routers of experts give logits besides, and GPTBigCode's forward
/// makes another mask without labels.
template <class Refuse>
void refuse_with_recording(const Run& run, bool own, const Refuse& refuse) {
    const LoopKind kind = run.plan.loop.kind;
    const auto unless = [&](bool known, const char* where, std::string what, const char* hint) {
        if (!known) refuse(where, fmt::format("{} was not compared with recorded networks yet", what), hint);
    };
    unless(kind != LoopKind::prm, "loop.kind", std::string(trainer_of(kind)),
           "DPO, KTO, ORPO, CPO, BCO, GRPO, RLOO, online DPO or a reward model");
    unless(kind != LoopKind::reward || network::scores_sequences(*run.spec.recording), "loop.kind",
           fmt::format("a reward model of {}", run.spec.model_type), "another model");
    unless(!own, "stack", fmt::format("preference training of {}", title_of_own(run.plan.preference.maker)),
           "trl's trainers");
    const auto& processes = run.plan.distributed;
    const bool is_compared =
        (kind == LoopKind::dpo || kind == LoopKind::reward) &&
        (!processes || processes->as<DdpPlan>() || processes->as<ZeroPlan>() || processes->as<Fsdp2Plan>());
    unless(!processes || is_compared, "distributed",
           "preference training on several GPUs but by DDP, ZeRO or FSDP2 in DPO and of reward models", "one GPU");
    // BERT's kin: the head's weight is asked of a module that has more in it than the head.
    const network::Document& recording = *run.spec.recording;
    unless(!processes || processes->as<DdpPlan>() || recording.output_embeddings.find('.') == std::string::npos,
           "distributed", fmt::format("preference training of {} in shards", run.spec.model_type), "DDP");
    unless(!processes || !processes->as<Fsdp2Plan>() || !network::has_experts(recording), "distributed",
           "preference training of a mixture of experts under FSDP2", "DDP or ZeRO");
    unless(run.spec.model_type != "gpt_bigcode", "loop.kind", "preference training of gpt_bigcode", "another model");
    unless(run.spec.model_type != "falcon" || !prepares_by_itself(kind) || !run.plan.load.quantization,
           "load.quantization_config", fmt::format("{} of quantized weights of falcon", trainer_of(kind)),
           "weights in 16 bits");
}

}  // namespace

void refuse_in_preferences(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.push_back({where, std::move(what), hint});
    };
    const bool factory = by_llama_factory(plan), swift = by_ms_swift(plan), own = factory || swift;
    if (swift) refuse_by_ms_swift(run, refuse);
    if (factory && !run.stack.llama_factory_preferences_are_known())
        refuse("trl.trainer",
               fmt::format("LLaMA-Factory's trainers with trl {} are not supported", text_of(run.stack.trl)),
               "the stack llamafactory-0.9.5, with trl 0.24");
    if (factory && plan.distributed)
        refuse("distributed", "LLaMA-Factory's preference training on several GPUs is not supported", "one GPU");
    if (has_value_model(plan.loop.kind)) {
        refuse_generation(run.spec, problems);
        refuse_without_cache(run.spec, problems);
        return refuse_in_ppo(run, problems);
    }
    if (!own && plan.loop.kind != LoopKind::bco && !run.stack.preferences_are_known())
        refuse("loop.kind",
               fmt::format("{} of trl {} is not supported", trainer_of(plan.loop.kind), text_of(run.stack.trl)),
               "trl 1.9 and 1.16 are supported");
    refuse_with_loaded_reference(run, own, refuse);
    if (run.spec.recording) refuse_with_recording(run, own, refuse);
    if (own && plan.evaluation)
        refuse(
            "training.eval_strategy",
            fmt::format("evaluation in {}'s preference training is not supported", title_of_own(plan.preference.maker)),
            "leave it out");
    if (plan.evaluation) refuse_in_evaluation(plan, refuse);
    if (plan.distributed && plan.preference.precompute_ref_log_probs)
        refuse("training.precompute_ref_log_probs",
               "scores that several processes gather before training are not supported", "false, or one GPU");
    if (is_partitioned(plan) && !plan.peft && run.spec.mixture)
        refuse("distributed.deepspeed.zero_optimization.stage",
               "a reference with experts, which ZeRO-3 cuts too, is not supported", "an adapter, or ZeRO-2");
    if (plan.load.resize_token_embeddings)
        refuse("load.resize_token_embeddings", "a resized embedding, which the reference has not, is not supported",
               "leave it out");
    if (plan.load.attention == AttentionImplementation::flash_attention_2 && !generates_rows(plan.loop.kind) &&
        plan_of_preferences(plan).batch.attention_mask != AttentionMask::ones)
        refuse("batch.rejected_length",
               "the package flash_attn packs the tokens of padded rows, which is not supported",
               "rows of one length, or sdpa");
    const auto& rows = plan.preference.precompute_ref_batch_size;
    if (plan.preference.precompute_ref_log_probs && rows && *rows != plan.training.per_device_train_batch_size)
        refuse("training.precompute_ref_batch_size", "another number of rows than in training is not supported",
               "leave it out");
    if (plan.peft && plan.peft->use_dora && plan.peft->lora_dropout != 0 && plan.preference.disable_dropout)
        refuse("peft.lora_dropout", "DoRA with a dropout that trl switches off is not supported", "0");
    const bool copies_adapters =
        loads_reference(plan.loop.kind) ||
        (generates_rows(plan.loop.kind) && (plan.preference.grpo.has_reference || run.stack.dpo_scores_in_chunks()));
    if (plan.peft && !plan.trl_makes_adapters && !own && copies_adapters)
        refuse("trl.peft_config", "a model that has adapters already, of which trl makes a copy, is not supported",
               "give the trainer a peft_config");
    if (generates_rows(plan.loop.kind)) refuse_in_groups(run, problems);
    if (generates_pairs(plan.loop.kind)) return refuse_in_online(run, refuse);
    if (plan.loop.kind == LoopKind::bco) return refuse_in_bco(run, refuse);
    if (plan.loop.kind == LoopKind::prm) return refuse_in_process_rewards(run, refuse, problems);
    if (plan.loop.kind == LoopKind::gkd) return refuse_generation_in_distillation(run, refuse);
    if (is_contrast(plan.loop.kind) || factory) return refuse_in_contrast(run, refuse);
    if (has_score(plan)) return refuse_in_rewards(run, refuse);
    if (!plan.peft || !scores_in_chunks(run)) return;
    for (const LoraTarget& target : lora_targets(run.spec, *plan.peft))
        if (target.module.name == "lm_head")
            refuse("peft.target_modules",
                   "trl stops: applying a PEFT adapter to `lm_head` is not supported: the log-probabilities are "
                   "computed from `lm_head.weight` directly, so the adapter would never be trained",
                   "leave lm_head out");
}

}  // namespace vramfit::model
