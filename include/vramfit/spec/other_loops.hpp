// Loops that are known and not predicted.
#pragma once

#include <string_view>

namespace vramfit {

/// Whether `name` is that of a trainer of trl that is not predicted ("gkd").
bool is_other_loop(std::string_view name);

inline constexpr const char* kPredictedLoops =
    "sft, dpo, reward, kto, orpo, cpo, grpo, rloo, gkd, online_dpo, prm, bco and ppo are";

}  // namespace vramfit
