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
constexpr RefusedKey kRefusedByUnpaired[] = {
    {"precompute_ref_log_probs", "log-probabilities of the reference that are computed before are not supported"},
};

}  // namespace

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
