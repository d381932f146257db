// Whether the rows of preference training make sense.
#include <algorithm>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit {

namespace {

/// The fewest tokens of the longest row that leave each completion one.
std::int64_t shortest_rows(const PairLengths& pairs) {
    std::int64_t tokens = 0;
    for (const auto* shorter : {&pairs.chosen_shorter, &pairs.rejected_shorter})
        for (std::size_t row = 0; row < std::max(pairs.prompt.size(), shorter->size()); ++row)
            tokens = std::max(tokens, pairs.prompt[row % pairs.prompt.size()] + (*shorter)[row % shorter->size()] + 1);
    return tokens;
}

/// What LLaMA-Factory 0.9.5 has no key for, or cannot have.
void check_llama_factory(const TrainPlan& plan, Problems& problems) {
    if (!by_llama_factory(plan)) return;
    const PreferencePlan& preference = plan.preference;
    if (preference.precompute_ref_log_probs)
        problems.invalid("training.precompute_ref_log_probs",
                         "LLaMA-Factory's trainers have no such argument: their reference runs in each step", "false");
    const bool known = preference.loss_types.size() == 1 && preference.loss_types.front() <= PairLoss::ipo;
    if (plan.loop.kind == LoopKind::dpo && !known)
        problems.invalid("training.loss_type", "LLaMA-Factory has one loss of sigmoid, hinge, ipo, orpo and simpo",
                         "one of them; orpo is the loop orpo, simpo the loop cpo");
    if (plan.loop.kind == LoopKind::cpo && preference.contrast_loss != ContrastLoss::simpo)
        problems.invalid("training.loss_type", "of CPO's losses LLaMA-Factory has simpo alone", "simpo");
    if (plan.loop.kind == LoopKind::kto && preference.unpaired_loss != UnpairedLoss::kto)
        problems.invalid("training.loss_type", "of KTO's losses LLaMA-Factory has kto alone", "kto");
    if (plan.loop.kind == LoopKind::reward && preference.centers_rewards)
        problems.invalid("training.center_rewards_coefficient", "LLaMA-Factory's reward models have no such argument",
                         "leave it out");
    if (plan.batch.sequence_length % kFactoryMultiple != 0)
        problems.invalid(
            "batch.completion_length",
            fmt::format("LLaMA-Factory pads rows to a multiple of {} tokens, and these have {}", kFactoryMultiple,
                        plan.batch.sequence_length),
            fmt::format("rows of {} tokens", (plan.batch.sequence_length / kFactoryMultiple + 1) * kFactoryMultiple));
}

// trl 1.16.0, dpo_trainer.py DPOTrainer.__init__, grpo_trainer.py GRPOTrainer.__init__. callbacks.py
// SyncRefModelCallback itself adds in place, parameter by parameter, and takes no memory.
void check_synced_reference(const TrainPlan& plan, Problems& problems) {
    constexpr const char* kKey = "training.sync_ref_model";
    if (generates_rows(plan.loop.kind) && !plan.preference.grpo.has_reference)
        problems.invalid(
            kKey,
            "trl stops: you passed `sync_ref_model=True` while `beta=0.0`, which means the reference model "
            "is not used during training",
            "false, or a beta above 0");
    if (plan.peft)
        problems.invalid(kKey,
                         "trl stops: you passed `sync_ref_model=True` while using a PEFT model, which is currently not "
                         "supported: the reference is the policy without its adapters",
                         "false, or full fine-tuning");
    if (plan.preference.precompute_ref_log_probs)
        problems.invalid(kKey,
                         "trl stops: you cannot use `sync_ref_model=True` together with "
                         "`precompute_ref_log_probs=True`",
                         "one of the two");
    if (plan.distributed)
        problems.unsupported(kKey, "a reference that follows the policy is not supported on several GPUs", "one GPU");
}

// trl 1.16.0, grpo_config.py GRPOConfig.__post_init__, rloo_config.py RLOOConfig.__post_init__.
void check_generation(const TrainPlan& plan, Problems& problems) {
    const GrpoPlan& grpo = plan.preference.grpo;
    const PairLengths& pairs = plan.batch.pairs;
    const std::int64_t steps = grpo.generation_steps(plan.training.gradient_accumulation_steps);
    const std::int64_t rows = generates_pairs(plan.loop.kind) ? 2 * plan.training.per_device_train_batch_size
                                                              : plan.training.per_device_train_batch_size * steps;
    const std::int64_t all = rows * (plan.distributed ? plan.distributed->world_size : 1);
    if (all % grpo.num_generations != 0)
        problems.invalid("training.num_generations",
                         fmt::format("trl stops: generation_batch_size ({}) must be divisible by num_generations ({})",
                                     all, grpo.num_generations),
                         plan.distributed
                             ? "a batch times processes times steps_per_generation that is a multiple of it"
                             : "a batch times steps_per_generation that is a multiple of num_generations");
    if (pairs.padded && (pairs.prompt.size() != 1 || pairs.chosen_shorter.size() != 1))
        problems.invalid("batch.padded", "lists of lengths say which rows are padded", "lists, or padded");
    const auto judge = [&](const char* where, const std::vector<std::int64_t>& list, std::int64_t count,
                           const char* what) {
        if (list.size() != 1 && static_cast<std::int64_t>(list.size()) != count)
            problems.invalid(where, fmt::format("{} lengths for {} {}", list.size(), count, what),
                             "one number, or one for each");
    };
    judge("batch.prompt_length", pairs.prompt, rows / grpo.num_generations, "prompts of a generation");
    judge("batch.completion_length", pairs.chosen_shorter, rows, "completions of a generation");
    if (!batches_are_known(plan))
        problems.unsupported("batch.completion_length",
                             "rows of several lengths, of which trl draws at random which ones share a batch, are not "
                             "supported",
                             "padded: true, which needs as much as any of them");
    const std::int64_t completion = group_rows(plan).completion;
    if (grpo.max_completion_length && completion > *grpo.max_completion_length)
        problems.invalid(
            "training.max_completion_length",
            fmt::format("completions of {} tokens are longer than {}", completion, *grpo.max_completion_length),
            "shorter completions, or a larger max_completion_length");
    if (grpo.vllm_context && plan.batch.sequence_length > *grpo.vllm_context)
        problems.invalid("training.vllm_max_model_length",
                         fmt::format("prompt and completion are {} tokens, of which vLLM keeps no more than {}",
                                     plan.batch.sequence_length, *grpo.vllm_context),
                         "shorter rows, or a larger vllm_max_model_length");
}

}  // namespace

// trl 1.16.0, dpo_trainer.py DataCollatorForPreference: what is cut is not predicted.
void check_pairs(const TrainPlan& plan, const Stack& stack, Problems& problems) {
    if (!is_preference(plan.loop.kind)) {
        if (plan.preference.reference_source != ReferenceSource::trainer)
            problems.invalid("trl.ref_model", "only trainers of preferences have a reference", "leave it out");
        return;
    }
    check_llama_factory(plan, problems);
    if (stack.trl == Version{})
        problems.unsupported("loop.kind", fmt::format("the stack {} has no trl", stack.name),
                             "give trl's version in the stack");
    const PairLengths& pairs = plan.batch.pairs;
    if (plan.training.max_length && *plan.training.max_length < plan.batch.sequence_length)
        problems.invalid("training.max_length",
                         fmt::format("prompt and completion are {} tokens and would be cut to {}",
                                     plan.batch.sequence_length, *plan.training.max_length),
                         "shorter rows, or a larger max_length");
    const std::int64_t prompt = *std::max_element(pairs.prompt.begin(), pairs.prompt.end());
    if (prompt >= plan.batch.sequence_length)
        problems.invalid("batch.prompt_length",
                         fmt::format("a prompt of {} tokens leaves no room for a completion in rows of {}", prompt,
                                     plan.batch.sequence_length),
                         "a shorter prompt, or longer rows");
    else if (const std::int64_t needed = shortest_rows(pairs); needed > plan.batch.sequence_length)
        problems.invalid("batch.rejected_length",
                         fmt::format("one completion is so much shorter than the other that rows of {} leave it no "
                                     "token",
                                     plan.batch.sequence_length),
                         fmt::format("rows of {} tokens or more", needed));
    if (plan.preference.syncs_reference) check_synced_reference(plan, problems);
    if (generates_rows(plan.loop.kind)) return check_generation(plan, problems);
    // trl 1.16.0, kto_trainer.py KTOTrainer.__init__.
    const std::int64_t rows = plan.training.per_device_train_batch_size;
    const bool needs_two = plan.loop.kind == LoopKind::kto && plan.preference.unpaired_loss == UnpairedLoss::kto &&
                           !by_llama_factory(plan);
    if (needs_two && by_ms_swift(plan) &&
        rows * plan.training.gradient_accumulation_steps <= 1)  // pipelines/train/kto.py
        problems.invalid("training.per_device_train_batch_size",
                         "ms-swift stops: Batch size is 1 (too small). KTO will not work properly because the KL term "
                         "will be equivalent to the implied reward.",
                         "2 or more, or several accumulation steps");
    if (needs_two && !by_ms_swift(plan) && rows <= 1)
        problems.invalid("training.per_device_train_batch_size",
                         "trl stops: actual (not effective) batch size must be > 1: KTO will not work properly because "
                         "the KL term will be equivalent to the implied reward",
                         "2, or the loss apo_zero_unpaired");
    const auto labels = static_cast<std::int64_t>(pairs.desirable.size());
    const bool one_batch = plan.loop.steps * plan.training.gradient_accumulation_steps == 1;
    if (has_unpaired_rows(plan.loop.kind) && labels > 1 && rows % labels != 0 && !one_batch)
        problems.unsupported(
            "batch.desirable",
            fmt::format("{} labels for batches of {} rows, so that batches differ, are not supported", labels, rows),
            "one for each row of a batch");
    for (const auto* list : {&pairs.prompt, &pairs.chosen_shorter, &pairs.rejected_shorter})
        if (list->size() != 1 && static_cast<std::int64_t>(list->size()) != plan.training.per_device_train_batch_size)
            problems.invalid("batch.completion_length",
                             fmt::format("{} lengths for {} rows of a batch", list->size(),
                                         plan.training.per_device_train_batch_size),
                             "one number, or one for each row");
}

void note_rows_alike(const TrainPlan& plan, Notes& notes) {
    if (!generates_rows(plan.loop.kind) || group_rows(plan).pads) return;
    notes.push_back({NoteKind::rows_alike,
                     "all prompts and all completions are taken to have one length; where they differ trl pads them, "
                     "and attention then takes a mask and another kernel, which may need more",
                     "padded: true (--padded) predicts that"});
}

}  // namespace vramfit
