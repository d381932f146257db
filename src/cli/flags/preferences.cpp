// Flags of a plan: rows and losses of preference training.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kPreferences = "Preferences, rewards, distillation (--loop dpo, kto, reward, grpo, gkd, ...)";

/// Tokens of the chosen completion.
std::int64_t completion_of(const BatchPlan& batch) {
    return batch.sequence_length - batch.pairs.prompt.front() - batch.pairs.chosen_shorter.front();
}

Words loss_words() {
    Words words;
    for (const Named<PairLoss>& loss : kPairLossNames) words.push_back(loss.name);
    for (const Named<UnpairedLoss>& loss : kUnpairedLossNames) words.push_back(loss.name);
    words.push_back(name_of(ContrastLoss::simpo));  // the others of CPO are DPO's too
    for (const Named<GroupLoss>& loss : kGroupLossNames) words.push_back(loss.name);
    return words;
}

constexpr PlanFlag kPreferenceFlags[] = {
    {"prompt", "prompt_length", "N", nullptr, kPreferences,
     "Tokens of each prompt; completions have the rest of --seq [1, which needs the most; GRPO, RLOO and PPO: 512]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.batch.pairs.prompt = {integer_from(value, where)};
     }},
    {"completion", "completion_length", "N", nullptr, kPreferences,
     "Tokens of each chosen completion, and of each rejected one [what the prompt leaves of --seq]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.batch.sequence_length = job.plan.batch.pairs.prompt.front() + integer_from(value, where);
     },
     2},
    {"rejected", "rejected_length", "N", nullptr, kPreferences,
     "Tokens of each rejected completion [as many as of the chosen one]",
     [](Job& job, std::string_view value, const std::string& where) {
         BatchPlan& batch = job.plan.batch;
         const std::int64_t chosen = completion_of(batch), rejected = integer_from(value, where);
         const std::int64_t longer = std::max(chosen, rejected);
         batch.sequence_length = batch.pairs.prompt.front() + longer;
         batch.pairs.chosen_shorter = {longer - chosen};
         batch.pairs.rejected_shorter = {longer - rejected};
     },
     3},
    {"loss_type", "", "NAME,...", nullptr, kPreferences,
     "trl's loss_type: of DPO one or several, whose sum is the loss [sigmoid], of KTO kto or apo_zero_unpaired [kto], "
     "of CPO sigmoid, hinge, ipo or simpo [sigmoid], of GRPO dapo, grpo, bnpo, dr_grpo, cispo, sapo, luspo or vespo "
     "[dapo]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (job.plan.loop.kind == LoopKind::kto) {
             job.plan.preference.unpaired_loss = value_from(value, where, kUnpairedLossNames);
             return;
         }
         if (job.plan.loop.kind == LoopKind::cpo) {
             job.plan.preference.contrast_loss = value_from(value, where, kContrastLossNames);
             return;
         }
         if (job.plan.loop.kind == LoopKind::grpo) {
             job.plan.preference.grpo.loss = value_from(value, where, kGroupLossNames);
             return;
         }
         if (job.plan.loop.kind == LoopKind::rloo)
             throw Error(ErrorKind::invalid, where, "RLOOTrainer has no such argument", "leave it out");
         if (generates_pairs(job.plan.loop.kind) && value != "sigmoid" && value != "ipo")
             throw Error(ErrorKind::invalid, where, "online DPO has the losses sigmoid and ipo", "one of them");
         job.plan.preference.loss_types.clear();
         for (const std::string& word : words_from(value, where))
             job.plan.preference.loss_types.push_back(value_from(word, where, kPairLossNames));
     },
     2, loss_words},
    {"precompute_ref_log_probs", "", "BOOL", "true", kPreferences,
     "Score the data with the reference before training, which then needs no model of its own [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.preference.precompute_ref_log_probs = boolean_from(value, where);
     }},
    {"sync_ref_model", "", "BOOL", "true", kPreferences,
     "The reference follows the policy (TR-DPO), with full fine-tuning; takes no further memory [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.preference.syncs_reference = boolean_from(value, where);
     }},
    {"cpo_alpha", "", "X", nullptr, kPreferences,
     "CPO: the weight of the chosen rows' likelihood; memory asks only whether it is 0 [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.preference.adds_likelihood = number_from(value, where) != 0;
     }},
    {"center_rewards_coefficient", "", "X", nullptr, kPreferences,
     "Reward models: the loss has a term that centers rewards, with any coefficient [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         (void)number_from(value, where);
         job.plan.preference.centers_rewards = true;
     }},
};

/// How to have the flag; nullptr: the loop has it.
const char* hint_of_flag(std::string_view name, LoopKind loop) {
    if (name == "center_rewards_coefficient") return loop == LoopKind::reward ? nullptr : "add --loop reward";
    if (name == "rejected" && !has_pairs(loop)) return is_preference(loop) ? "leave it out" : "add --loop dpo";
    if (name == "cpo_alpha") return loop == LoopKind::cpo ? nullptr : "add --loop cpo";
    if (name == "loss_type" && (loop == LoopKind::cpo || loop == LoopKind::grpo || generates_pairs(loop)))
        return nullptr;
    if (name == "sync_ref_model" && generates_rows(loop)) return nullptr;
    const bool of_loaded = name == "loss_type" || name == "sync_ref_model";
    if ((of_loaded && !loads_reference(loop)) || (name == "precompute_ref_log_probs" && !has_reference(loop)))
        return is_preference(loop) ? "leave it out" : "add --loop dpo";
    return is_preference(loop) ? nullptr : "add --loop dpo";
}

}  // namespace

std::span<const PlanFlag> preference_flags() { return kPreferenceFlags; }

void refuse_preference_flags(const std::map<std::string, GivenValue>& given, LoopKind loop) {
    const auto tokens = [&given](const char* name, std::int64_t otherwise) {
        const auto found = given.find(name);
        return found == given.end() ? otherwise : integer_from(found->second.value, found->second.where);
    };
    if (given.contains("seq") && given.contains("completion") &&
        tokens("seq", 0) != tokens("prompt", takes_reward_models(loop) ? kGroupPrompt : 1) +
                                std::max(tokens("completion", 0), tokens("rejected", 0)))
        throw Error(ErrorKind::invalid, given.at("completion").where,
                    "--seq says how long prompt and completion are together", "give one of them, with --prompt");
    for (const PlanFlag& flag : kPreferenceFlags)
        if (const auto found = given.find(flag.name); found != given.end())
            if (const char* const hint = hint_of_flag(flag.name, loop))
                throw Error(ErrorKind::invalid, found->second.where,
                            is_preference(loop) ? fmt::format("{} has no such argument", trainer_of(loop))
                                                : "only preference training has it",
                            hint);
}

}  // namespace vramfit::cli
