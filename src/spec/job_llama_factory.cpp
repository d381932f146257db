// Job files: what LLaMA-Factory's own trainers of preferences have in `training`.
#include <string_view>

#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

// LLaMA-Factory 0.9.5 hparams/finetuning_args.py: what memory does not depend on.
constexpr std::string_view kIgnoredByFactory[] = {"pref_beta", "dpo_label_smoothing", "simpo_gamma",
                                                  "kto_chosen_weight", "kto_rejected_weight"};
constexpr std::string_view kRefusedByFactory[] = {"pref_bco_weight", "ld_alpha"};

/// pref_loss of the stage dpo: all but ipo, orpo and simpo need the same.
constexpr Named<PairLoss> kFactoryLosses[] = {
    {"sigmoid", PairLoss::sigmoid}, {"hinge", PairLoss::hinge}, {"ipo", PairLoss::ipo}};

}  // namespace

// The stage dpo with pref_loss orpo is the loop orpo, with simpo the loop cpo.
void read_llama_factory(ObjectReader& training, LoopKind kind, PreferencePlan& plan) {
    if (const auto weight = training.real("pref_ftx", {.low = 0})) plan.adds_sft = *weight > 1e-6;
    for (const std::string_view key : kIgnoredByFactory) training.skip(key);
    for (const std::string_view key : kRefusedByFactory)
        if (training.has(key))
            training.problems().unsupported(training.path(key), fmt::format("{} is not supported", key),
                                            "leave the key out");
    if (kind == LoopKind::dpo)
        if (const auto loss = training.choice<PairLoss>("loss_type", kFactoryLosses)) plan.loss_types = {*loss};
    if (kind == LoopKind::cpo) {
        constexpr Named<ContrastLoss> kOnly[] = {{"simpo", ContrastLoss::simpo}};
        (void)training.choice<ContrastLoss>("loss_type", kOnly);
        plan.contrast_loss = ContrastLoss::simpo;
    }
}

}  // namespace vramfit
