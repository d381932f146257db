// The tables of plan flags, by what they are about.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "cli/plan_flags.hpp"

namespace vramfit::cli {

std::span<const PlanFlag> recipe_flags();    ///< a name for several flags
std::span<const PlanFlag> method_flags();    ///< method, adapters, quantization
std::span<const PlanFlag> load_flags();      ///< dtype, attention
std::span<const PlanFlag> training_flags();  ///< batch, optimizer, checkpointing, loop
std::span<const PlanFlag> preference_flags();
std::span<const PlanFlag> grpo_flags();
std::span<const PlanFlag> ppo_flags();
std::span<const PlanFlag> second_flags();  ///< networks beside the one that is trained
std::span<const PlanFlag> unsloth_flags();
std::span<const PlanFlag> card_flags();  ///< card, library versions, allocator
std::span<const PlanFlag> several_gpus_flags();

/// A value that was given for a flag, and the spelling that it was given with.
struct GivenValue {
    std::string value;
    std::string where;
};

/// Throws Error for values that cannot be meant together, whatever their order. By the names of the tables.
void refuse_contradictions(const std::map<std::string, GivenValue>& given);

/// The same of the flags of preference training, which no other loop has.
void refuse_preference_flags(const std::map<std::string, GivenValue>& given, LoopKind loop);

/// Tokens of GRPO's and RLOO's prompts where nothing is said: what trl's releases before 1.0 cut them to.
inline constexpr std::int64_t kGroupPrompt = 512;

using IsGiven = std::function<bool(std::string_view flag)>;
/// A recipe of Unsloth's loop where that is not predicted: plain transformers as an upper bound, and why. Throws
/// nothing.
void settle_unsloth_recipe(Job& job, const IsGiven& given);
/// Preference training by LLaMA-Factory's and ms-swift's trainers, as a recipe or a stack asks for it; adapters of
/// SFTTrainer.
void settle_own_trainers(Job& job, const IsGiven& given);
/// What Unsloth chooses where no flag says it. Throws Error for its flags without its loop.
void complete_unsloth(Job& job, const IsGiven& given);
/// How long GRPO's and RLOO's rows are where no flag says it. Throws Error for its flags without its loop.
void complete_grpo(Job& job, const IsGiven& given);
/// PPO's rows and networks where no flag says them. Throws Error for its flags without its loop.
void complete_ppo(Job& job, const IsGiven& given);
/// Throws Error for flags of a second network that the loop has not.
void judge_second_flags(const Job& job, const IsGiven& given);

}  // namespace vramfit::cli
