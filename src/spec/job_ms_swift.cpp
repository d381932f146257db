// Job files: what ms-swift's own trainers of preferences have in `training`.
#include <string_view>

#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

// ms-swift 4.6 swift/arguments/rlhf_args.py: what memory does not depend on.
constexpr std::string_view kIgnoredBySwift[] = {"beta",        "label_smoothing",  "loss_weights",      "discopop_tau",
                                                "simpo_gamma", "desirable_weight", "undesirable_weight"};
constexpr RefusedKey kRefusedBySwift[] = {
    {"ld_alpha", "length desensitization (ld_alpha) is not supported"},
    {"padding_free", "flattened batches are not supported"},
    {"router_aux_loss_coef", "the loss that balances experts is not supported here"},
};
constexpr RefusedKey kRefusedByPairs[] = {
    {"precompute_ref_log_probs", "ms-swift stops: precompute_ref_log_probs=True is not supported by Swift DPOTrainer"},
};
constexpr std::string_view kIgnoredBySwiftGroups[] = {"min_p"};  // prepare_generation_config hands on the other ones
constexpr RefusedKey kRefusedBySwiftGroups[] = {
    {"overlong_filter", "completions that are masked at the limit are not supported"},
    {"kl_in_reward", "a divergence that is taken from the rewards is not supported"},
    {"dynamic_sample", "groups that are sampled again are not supported"},
    {"log_entropy", "entropies are not supported"},
    {"sync_ref_model", "a reference that follows the policy is not supported"},
    {"multi_turn_scheduler", "several turns are not supported"},
    {"use_gym_env", "an environment that gives rewards is not supported"},
    {"teacher_model", "a teacher is not supported"},
    {"offload_model", "weights that wait in host memory are not supported"},
    {"offload_optimizer", "an optimizer that waits in host memory is not supported"},
    {"off_policy_sequence_mask_delta", "a mask of what is off policy is not supported"},
    {"chord_sft_dataset", "CHORD is not supported"},
};
constexpr RefusedKey kRefusedByUnpaired[] = {
    {"precompute_ref_log_probs", "log-probabilities of the reference that are computed before are not supported"},
};

}  // namespace

void read_swift_groups(ObjectReader& training, TrainingPlan& arguments, PreferencePlan& plan) {
    plan.disable_dropout = false;  // GRPOConfig
    judge_others(training, kRefusedBySwiftGroups, kIgnoredBySwiftGroups);
    GrpoPlan& groups = plan.grpo;
    groups = plan_of_swift_groups();
    if (const auto estimator = training.text("advantage_estimator"); estimator && *estimator != "grpo")
        training.problems().unsupported(training.path("advantage_estimator"), "another estimator is not supported",
                                        "grpo");
    read_grpo(training, LoopKind::grpo, arguments, plan);
    settle_swift_sampling(groups);
    groups.masks_truncated = false;
}

void read_ms_swift(ObjectReader& training, LoopKind kind, PreferencePlan& plan) {
    ObjectReader::set(plan.disable_dropout, training.boolean("disable_dropout"));
    switch (kind) {
        case LoopKind::kto:
            plan.disable_dropout = true;  // KTOTrainer.__init__ asks nobody
            read_unpaired_loss(training, plan);
            judge_others(training, kRefusedByUnpaired, {});
            break;
        case LoopKind::cpo: read_cpo(training, plan); break;
        case LoopKind::reward:
            plan.centers_rewards = training.real("center_rewards_coefficient", {}, Null::absent).has_value();
            break;
        case LoopKind::grpo:
        case LoopKind::orpo: break;
        default:
            read_losses(training, plan);
            plan.adds_sft = training.real("rpo_alpha", {}, Null::absent).has_value();
            judge_others(training, kRefusedByPairs, {});
    }
    const auto keeps = training.boolean("use_logits_to_keep");
    if (keeps && !*keeps)
        training.problems().unsupported(training.path("use_logits_to_keep"), "logits of all tokens are not supported",
                                        "leave it out");
    judge_others(training, kRefusedBySwift, kIgnoredBySwift);
}

}  // namespace vramfit
