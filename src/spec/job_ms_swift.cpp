// Job files: what ms-swift's own trainers of preferences have in `training`.
#include <string_view>

#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

// ms-swift 4.6 swift/arguments/rlhf_args.py: what memory does not depend on.
constexpr std::string_view kIgnoredBySwift[] = {"beta", "label_smoothing", "loss_weights", "discopop_tau"};
constexpr RefusedKey kRefusedBySwift[] = {
    {"ld_alpha", "length desensitization (ld_alpha) is not supported"},
    {"padding_free", "flattened batches are not supported"},
    {"precompute_ref_log_probs", "ms-swift stops: precompute_ref_log_probs=True is not supported by Swift DPOTrainer"},
    {"router_aux_loss_coef", "the loss that balances experts is not supported here"},
};

}  // namespace

void read_ms_swift(ObjectReader& training, PreferencePlan& plan) {
    read_losses(training, plan);
    plan.adds_sft = training.real("rpo_alpha", {}, Null::absent).has_value();
    ObjectReader::set(plan.disable_dropout, training.boolean("disable_dropout"));
    const auto keeps = training.boolean("use_logits_to_keep");
    if (keeps && !*keeps)
        training.problems().unsupported(training.path("use_logits_to_keep"), "logits of all tokens are not supported",
                                        "leave it out");
    judge_others(training, kRefusedBySwift, kIgnoredBySwift);
}

}  // namespace vramfit
