// Whether a loop has the networks that stand beside the one that is trained.
#include <algorithm>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit {

namespace {

/// Rows of the model's table of positions, where it has one: gpt2, opt.
void check_length(const SecondNetwork& second, std::int64_t tokens, std::string_view where, Problems& problems) {
    const bool learned = learns_positions(second.model);
    const std::int64_t rows = second.model.max_position_embeddings;
    if (learned && second.sequence_length.value_or(tokens) > rows)
        problems.invalid(where,
                         fmt::format("{} tokens, but its table of positions has {} rows",
                                     second.sequence_length.value_or(tokens), rows),
                         "shorter rows, or another model");
}

}  // namespace

namespace {

/// trl 1.16.0, experimental/gkd/gkd_trainer.py GKDTrainer.__init__.
void check_teacher(const ModelSpec& student, const TrainPlan& plan, Problems& problems) {
    if (plan.loop.kind != LoopKind::gkd) {
        if (plan.teacher) problems.invalid("loop.teacher", "only GKD has a teacher", "loop.kind gkd");
        return;
    }
    if (!plan.teacher) return problems.invalid("loop.teacher", "GKD needs a teacher", R"({"model": "..."})");
    if (plan.teacher->model.vocab_size != student.vocab_size)
        problems.invalid("loop.teacher.model",
                         fmt::format("trl stops: the student model has vocab_size {} but the teacher model has "
                                     "vocab_size {}",
                                     student.vocab_size, plan.teacher->model.vocab_size),
                         "a teacher with the same vocab_size");
    if (plan.teacher->sequence_length)
        problems.invalid("loop.teacher.sequence_length", "the teacher runs on the student's rows", "leave it out");
    const DistillationPlan& how = plan.distillation;
    const bool generates = how.lmbda > 0 || how.seq_kd;
    const std::int64_t generated = generates ? how.generated.value_or(how.max_new_tokens) : 0;
    if (how.generated && *how.generated > how.max_new_tokens)
        problems.invalid("batch.generated_length",
                         fmt::format("{} tokens are more than max_new_tokens ({})", *how.generated, how.max_new_tokens),
                         "fewer, or a larger max_new_tokens");
    check_length(*plan.teacher, plan.batch.sequence_length + generated, "loop.teacher.model", problems);
    for (const std::string& module : plan.peft ? plan.peft->modules_to_save : std::vector<std::string>())
        if (module == "lm_head")
            problems.unsupported("peft.modules_to_save", "a head that is saved whole is not supported in GKD",
                                 "leave it out");
}

/// trl 1.9.0, experimental/ppo/ppo_trainer.py PPOTrainer.__init__.
void check_value_model(const TrainPlan& plan, Problems& problems) {
    const PpoPlan& how = plan.preference.ppo;
    if (!has_value_model(plan.loop.kind)) {
        if (plan.value_model) problems.invalid("loop.value_model", "only PPO has a value model", "loop.kind ppo");
        if (how.reference_is_given)
            problems.invalid("loop.ref_model", "only PPO is given a reference", "loop.kind ppo, or leave it out");
        return;
    }
    if (!plan.value_model) problems.invalid("loop.value_model", "PPO needs a value model", R"({"model": "..."})");
    if (plan.reward_models.size() != 1)
        problems.invalid("loop.reward_models",
                         fmt::format("PPO has one reward model, not {}", plan.reward_models.size()),
                         R"([{"model": "..."}])");
    if (plan.value_model) check_length(*plan.value_model, plan.batch.sequence_length, "loop.value_model", problems);
    for (const SecondNetwork& model : plan.reward_models)
        if (model.sequence_length)
            problems.invalid("loop.reward_models.0.sequence_length", "the reward model runs on the policy's rows",
                             "leave it out");
    if (plan.value_model && plan.value_model->sequence_length)
        problems.invalid("loop.value_model.sequence_length", "the value model runs on the policy's rows",
                         "leave it out");
    const std::int64_t steps = plan.training.gradient_accumulation_steps;
    const std::int64_t rows = plan.training.per_device_train_batch_size * steps;
    if (rows % how.num_mini_batches != 0)
        problems.invalid("training.num_mini_batches",
                         fmt::format("trl stops: `batch_size` must be a multiple of `num_mini_batches`, inexact "
                                     "division: {} / {}",
                                     rows, how.num_mini_batches),
                         "fewer mini batches");
    else if (steps % how.num_mini_batches != 0)
        problems.unsupported("training.num_mini_batches",
                             "mini batches that are no whole number of batches are not supported",
                             "a number that divides gradient_accumulation_steps");
    if (how.whitens_rewards && rows / how.num_mini_batches < 8)
        problems.invalid("training.whiten_rewards",
                         fmt::format("trl stops: per-rank minibatch size {} is insufficient for whitening",
                                     rows / how.num_mini_batches),
                         "mini batches of 8 rows or more");
}

}  // namespace

// trl 1.16.0, grpo_trainer.py GRPOTrainer.__init__.
void check_seconds(const ModelSpec& model, const TrainPlan& plan, Problems& problems) {
    check_teacher(model, plan, problems);
    check_value_model(plan, problems);
    const bool generates = generates_rows(plan.loop.kind);
    if (!takes_reward_models(plan.loop.kind) && !plan.reward_models.empty())
        problems.invalid("loop.reward_models", "only GRPO, RLOO, online DPO and PPO are given reward models",
                         "loop.kind grpo, rloo, online_dpo or ppo");
    if (generates && reward_sources(plan) == 0)
        problems.invalid("loop.reward_functions",
                         "trl stops: no reward source provided. Pass `reward_funcs`, or an `environment_factory`",
                         "1, or reward_models");
    for (std::size_t i = 0; takes_reward_models(plan.loop.kind) && i < plan.reward_models.size(); ++i)
        check_length(plan.reward_models[i], plan.batch.sequence_length, fmt::format("loop.reward_models.{}.model", i),
                     problems);
}

}  // namespace vramfit
