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

constexpr const char* kSecond = "A second network (reward models of --loop grpo, rloo)";

SecondNetwork network_from(std::string_view name, const std::string& where) {
    SecondNetwork out;
    out.model = as_loaded(load_model(std::string(name), process_environment(), where), {});
    return out;
}

constexpr PlanFlag kSecondFlags[] = {
    {"reward-model", "reward_model_name_or_path", "MODEL,...", nullptr, kSecond,
     "Networks that give rewards, each with a head of one number; without --reward_functions no function does",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.reward_models.clear();
         for (const std::string_view name : split(value, ','))
             job.plan.reward_models.push_back(network_from(name, where));
         job.plan.preference.grpo.reward_functions = 0;
     }},
    {"reward-dtype", "", "DTYPE", nullptr, kSecond, "Of the reward models' weights [their checkpoint's]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (job.plan.reward_models.empty())
             throw Error(ErrorKind::invalid, where, "there is no reward model", "add --reward-model MODEL");
         const DType dtype = value_from(value, where, kLoadDTypes);
         for (SecondNetwork& model : job.plan.reward_models) model.dtype = dtype;
     },
     2},
    {"reward_functions", "", "N", nullptr, kSecond, "Functions on the host that give rewards [1, beside models 0]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.preference.grpo.reward_functions = integer_from(value, where, 0);
     },
     2},
};

}  // namespace

std::span<const PlanFlag> second_flags() { return kSecondFlags; }

void judge_second_flags(const Job& job, const IsGiven& given) {
    for (const PlanFlag& flag : kSecondFlags)
        if (given(flag.name) && !generates_rows(job.plan.loop.kind))
            throw Error(ErrorKind::invalid, fmt::format("--{}", flag.name), "only GRPO and RLOO are given rewards",
                        "add --loop grpo or --loop rloo");
}

}  // namespace vramfit::cli
