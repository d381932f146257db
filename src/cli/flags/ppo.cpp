// Flags of a plan: rollouts and epochs of PPO, and its networks and lengths where none is given.
#include <algorithm>

#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kPpo = "PPO (--loop ppo), by the names of trl's PPOConfig";

PpoPlan& ppo_of(Job& job) { return job.plan.preference.ppo; }

constexpr PlanFlag kPpoFlags[] = {
    {"response_length", "", "N", nullptr, kPpo, "Tokens of each response, as --completion [53]",
     [](Job& job, std::string_view value, const std::string& where) {
         ppo_of(job).response_length = integer_from(value, where);
     }},
    {"num_ppo_epochs", "", "N", nullptr, kPpo, "How often the rows of a rollout are trained on [4]",
     [](Job& job, std::string_view value, const std::string& where) {
         ppo_of(job).num_ppo_epochs = integer_from(value, where);
     }},
    {"num_mini_batches", "", "N", nullptr, kPpo,
     "Parts of a rollout, --batch times --accumulate rows, behind each of which the cache is emptied [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         ppo_of(job).num_mini_batches = integer_from(value, where);
     }},
    {"local_rollout_forward_batch_size", "", "N", nullptr, kPpo,
     "Rows that generate, and that are scored, at once [64]",
     [](Job& job, std::string_view value, const std::string& where) {
         ppo_of(job).local_rollout_forward_batch_size = integer_from(value, where);
     }},
    {"stop_token", "", "NAME", nullptr, kPpo, "eos: responses are cut behind their end; none: they are not [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (value != "eos" && value != "none")
             throw Error(ErrorKind::invalid, where, fmt::format("trl stops: unknown `stop_token` {}", value),
                         "eos or none");
         ppo_of(job).stops = value == "eos";
     }},
    {"missing_eos_penalty", "", "X", nullptr, kPpo,
     "What a response without an end loses; memory asks only whether it is given [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         ppo_of(job).has_eos_penalty = value != "none" && (number_from(value, where), true);
     }},
    {"whiten_rewards", "", "BOOL", "true", kPpo, "Rewards are normalized, in mini batches of 8 rows or more [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         ppo_of(job).whitens_rewards = boolean_from(value, where);
     }},
    {"kl_estimator", "", "NAME", nullptr, kPpo, "k1 or k3 [k1]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (value != "k1" && value != "k3")
             throw Error(ErrorKind::invalid, where, "trl stops: kl_estimator must be either 'k1' or 'k3'", "k1 or k3");
         ppo_of(job).is_k3 = value == "k3";
     }},
    {"ref_model", "", "BOOL", "true", kPpo,
     "The script loads the reference of full fine-tuning itself; false: the trainer copies the policy [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         ppo_of(job).reference_is_given = boolean_from(value, where);
     }},
};

/// A network of the policy's own configuration, loaded as it is.
SecondNetwork like_policy(const Job& job) {
    SecondNetwork out;
    out.model = job.model;
    out.dtype = job.plan.load.dtype;
    return out;
}

void complete_networks(Job& job, const IsGiven& given) {
    TrainPlan& plan = job.plan;
    if (plan.reward_models.empty()) plan.reward_models = {like_policy(job)};
    if (!given("reward-dtype"))
        for (SecondNetwork& reward : plan.reward_models) reward.dtype = plan.load.dtype;
    if (!plan.value_model) plan.value_model = plan.reward_models.front();
    if (!given("value-dtype") && given("value-model")) plan.value_model->dtype = plan.load.dtype;
}

}  // namespace

std::span<const PlanFlag> ppo_flags() { return kPpoFlags; }

void complete_ppo(Job& job, const IsGiven& given) {
    if (!has_value_model(job.plan.loop.kind)) {
        for (const PlanFlag& flag : kPpoFlags)
            if (given(flag.name))
                throw Error(ErrorKind::invalid, fmt::format("--{}", flag.name), "only PPO has it", "add --loop ppo");
        return;
    }
    // Trainer asks the model for it, and PPOTrainer has a loop of its own that does not.
    if (job.plan.training.gradient_checkpointing && (given("checkpointing") || given("gradient_checkpointing")))
        throw Error(ErrorKind::invalid, "--checkpointing",
                    "PPOTrainer does not turn gradient checkpointing on, whatever its PPOConfig says",
                    "leave it out; what a script turns on itself is load.gradient_checkpointing of a job file");
    job.plan.set_checkpointing(false);
    complete_networks(job, given);
    BatchPlan& batch = job.plan.batch;
    PpoPlan& how = ppo_of(job);
    const std::int64_t completion = batch.sequence_length - batch.pairs.prompt.front();
    if (!given("prompt")) batch.pairs.prompt = {kGroupPrompt};
    if (!given("padded")) batch.pairs.padded = true;
    if (given("completion"))
        how.response_length = completion;
    else if (given("seq") && !given("response_length"))
        how.response_length = std::max<std::int64_t>(batch.sequence_length - batch.pairs.prompt.front(), 1);
    batch.sequence_length = batch.pairs.prompt.front() + how.response_length;
}

}  // namespace vramfit::cli
