// Flags of a plan: networks beside the one that is trained.
#include <fmt/format.h>

#include "base/split.hpp"
#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "cli/input.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kSecond = "A second network (grpo, rloo, online_dpo, ppo: rewards; gkd: a teacher)";

SecondNetwork network_from(std::string_view name, const std::string& where) {
    SecondNetwork out;
    out.model = as_loaded(load_model(std::string(name), process_environment(), where), {});
    return out;
}

double share_of(std::string_view value, const std::string& where) {
    const double share = number_from(value, where);
    if (share > 1)
        throw Error(ErrorKind::invalid, where, "trl stops: it must be in the range [0.0, 1.0]", "a number from 0 to 1");
    return share;
}

constexpr PlanFlag kSecondFlags[] = {
    {"reward-model", "reward_model_name_or_path", "MODEL,...", nullptr, kSecond,
     "Networks that give rewards, each with a head of one number; without --reward_functions no function does [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.reward_models.clear();
         for (const std::string_view name : split(value, ','))
             job.plan.reward_models.push_back(network_from(name, where));
         job.plan.preference.grpo.reward_functions = 0;
     }},
    {"reward-dtype", "", "DTYPE", nullptr, kSecond,
     "Of the reward models' weights [their checkpoint's; PPO: as of the policy's]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (job.plan.reward_models.empty())
             throw Error(ErrorKind::invalid, where, "there is no reward model", "add --reward-model MODEL");
         const DType dtype = value_from(value, where, kLoadDTypes);
         for (SecondNetwork& model : job.plan.reward_models) model.dtype = dtype;
     },
     2},
    {"value-model", "value_model", "MODEL", nullptr, kSecond,
     "PPO: the network with a head of one number that is trained beside the policy [the reward model's]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.value_model = network_from(value, where);
     }},
    {"value-dtype", "", "DTYPE", nullptr, kSecond, "Of the value model's weights [as of the policy's]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (!job.plan.value_model)
             throw Error(ErrorKind::invalid, where, "there is no value model", "add --value-model MODEL");
         job.plan.value_model->dtype = value_from(value, where, kLoadDTypes);
     },
     2},
    {"reward_functions", "", "N", nullptr, kSecond, "Functions on the host that give rewards [1, beside models 0]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.preference.grpo.reward_functions = integer_from(value, where, 0);
     },
     2},
    {"teacher", "teacher_model teacher_model_name_or_path", "MODEL", nullptr, kSecond,
     "GKD: the network whose logits the student learns, with the same vocabulary [none; required with --loop gkd]",
     [](Job& job, std::string_view value, const std::string& where) { job.plan.teacher = network_from(value, where); }},
    {"teacher-dtype", "", "DTYPE", nullptr, kSecond, "Of the teacher's weights [its checkpoint's]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (!job.plan.teacher) throw Error(ErrorKind::invalid, where, "there is no teacher", "add --teacher MODEL");
         job.plan.teacher->dtype = value_from(value, where, kLoadDTypes);
     },
     2},
    {"lmbda", "", "X", nullptr, kSecond,
     "GKD: how often the student's own completions are trained on; 0: never, 1: always, between: both kinds of steps "
     "are "
     "predicted [0.5]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.distillation.lmbda = share_of(value, where);
     }},
    {"max_new_tokens", "", "N", nullptr, kSecond, "GKD, online DPO: tokens of what is generated [128, online DPO: 64]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.distillation.max_new_tokens = integer_from(value, where);
     }},
    {"seq_kd", "", "BOOL", "true", kSecond, "GKD: other steps train on the teacher's completions [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.distillation.seq_kd = boolean_from(value, where);
     }},
};

}  // namespace

std::span<const PlanFlag> second_flags() { return kSecondFlags; }

void judge_second_flags(const Job& job, const IsGiven& given) {
    const LoopKind kind = job.plan.loop.kind;
    const bool rewards = takes_reward_models(kind), distills = kind == LoopKind::gkd, has_value = has_value_model(kind);
    for (const PlanFlag& flag : kSecondFlags) {
        const std::string_view name = flag.name;
        const bool gives_rewards = name.starts_with("reward"), of_value = name.starts_with("value");
        const bool generates = name == "max_new_tokens" && generates_pairs(kind);
        const bool is_function = name == "reward_functions" && has_value;
        const bool has = gives_rewards ? rewards && !is_function : of_value ? has_value : distills || generates;
        if (!given(flag.name) || has) continue;
        throw Error(ErrorKind::invalid, fmt::format("--{}", flag.name),
                    is_function     ? "PPO has a reward model, and no functions"
                    : gives_rewards ? "only GRPO, RLOO, online DPO and PPO are given rewards"
                    : of_value      ? "only PPO has a value model"
                                    : "only GKD has it",
                    is_function     ? "leave it out"
                    : gives_rewards ? "add --loop grpo, --loop rloo, --loop online_dpo or --loop ppo"
                    : of_value      ? "add --loop ppo"
                                    : "add --loop gkd");
    }
    const bool may_generate_more = job.plan.distillation.lmbda > 0 || job.plan.distillation.seq_kd;
    if (distills && given("padded") && !job.plan.batch.pairs.padded && may_generate_more && !given("prompt"))
        throw Error(ErrorKind::invalid, "--padded", "prompts that are all as long are as long as is said",
                    "add --prompt N");
    if (distills && !job.plan.teacher)
        throw Error(ErrorKind::invalid, "--teacher", "GKD needs a teacher", "add --teacher MODEL");
    if (distills && job.plan.distillation.beta > 1)
        throw Error(ErrorKind::invalid, "--beta", "trl stops: beta must be in the range [0.0, 1.0]",
                    "a number from 0 to 1");
}

}  // namespace vramfit::cli
