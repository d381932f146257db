// What was not compared of recorded networks whose layers share parameters, or stand in several lists.
#include <fmt/format.h>

#include "spec/network/facts.hpp"
#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/checkpointing.hpp"

namespace vramfit {

void check_recorded_layers(const network::Document& recording, const network::Facts& facts, const TrainPlan& plan,
                           const Stack& stack, Problems& problems) {
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.unsupported(where, fmt::format("{} was not compared with recorded networks yet", what), hint);
    };
    if (facts.layers_share_parameters) {
        constexpr const char* kWhat = "a parameter that several layers share";
        if (plan.distributed) refuse("distributed", fmt::format("{}, on several GPUs,", kWhat), "one GPU");
        if (plan.peft && !plan.peft->modules_to_save.empty())
            refuse("peft.modules_to_save", fmt::format("a copy of modules beside {}", kWhat), "leave it out");
    }
    // 5.17.0 modeling_hy_v4.py HYV4DecoderLayer.forward gives back what it was given of an indexer, for which
    // CheckpointFunction makes a gradient of zeros.
    const bool is_reentrant = use_reentrant_of(plan, stack).value_or(stack.checkpointing_is_reentrant());
    if (recording.model_type == "hy_v4" && plan.checkpoints() && is_reentrant)
        refuse("training.gradient_checkpointing_kwargs", "reentrant checkpointing of layers that share an indexer",
               "\"use_reentrant\": false");
    if (facts.has_several_lists) {
        constexpr const char* kWhat = "a network with several lists of layers";
        if (plan.distributed) refuse("distributed", fmt::format("{}, on several GPUs,", kWhat), "one GPU");
        if (plan.peft && plan.peft->layers_to_transform)
            refuse("peft.layers_to_transform", fmt::format("adapters of some layers of {}", kWhat), "leave it out");
    }
}

}  // namespace vramfit
