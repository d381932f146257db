// Training libraries with trainers of their own, in messages.
#pragma once

#include <string_view>

#include "vramfit/spec/preference_plan.hpp"

namespace vramfit {

/// "LLaMA-Factory", "ms-swift"; empty: the trainer is trl's.
constexpr std::string_view title_of_own(TrainerMaker maker) {
    switch (maker) {
        case TrainerMaker::llama_factory: return "LLaMA-Factory";
        case TrainerMaker::ms_swift: return "ms-swift";
        case TrainerMaker::trl:
        case TrainerMaker::axolotl: break;
    }
    return {};
}

}  // namespace vramfit
