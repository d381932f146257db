// What was not compared of recorded networks whose layers share parameters, or stand in several lists.
#include <fmt/format.h>

#include "spec/network/facts.hpp"
#include "spec/plan_check_parts.hpp"

namespace vramfit {

void check_recorded_layers(const network::Facts& facts, const TrainPlan& plan, Problems& problems) {
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.unsupported(where, fmt::format("{} was not compared with recorded networks yet", what), hint);
    };
    if (facts.layers_share_parameters) {
        constexpr const char* kWhat = "a parameter that several layers share";
        if (plan.distributed) refuse("distributed", fmt::format("{}, on several GPUs,", kWhat), "one GPU");
        if (plan.peft && !plan.peft->modules_to_save.empty())
            refuse("peft.modules_to_save", fmt::format("a copy of modules beside {}", kWhat), "leave it out");
    }
    if (facts.has_several_lists) {
        constexpr const char* kWhat = "a network with several lists of layers";
        if (plan.distributed) refuse("distributed", fmt::format("{}, on several GPUs,", kWhat), "one GPU");
        if (plan.peft && plan.peft->layers_to_transform)
            refuse("peft.layers_to_transform", fmt::format("adapters of some layers of {}", kWhat), "leave it out");
    }
}

}  // namespace vramfit
