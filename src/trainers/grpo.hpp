// trl's GRPOTrainer and RLOOTrainer as files and scripts ask for them.
#pragma once

#include <string_view>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// One of them by its words.
struct GroupTrainer {
    LoopKind loop;
    std::string_view name, config;  ///< "GRPOTrainer", "GRPOConfig"
    std::string_view command;       ///< "trl grpo"
    std::string_view scripts[2];    ///< "grpo.py"
};
inline constexpr GroupTrainer kGrpoTrainer = {
    LoopKind::grpo, "GRPOTrainer", "GRPOConfig", "trl grpo", {"grpo.py", "run_grpo.py"}};
inline constexpr GroupTrainer kRlooTrainer = {
    LoopKind::rloo, "RLOOTrainer", "RLOOConfig", "trl rloo", {"rloo.py", "run_rloo.py"}};

/// Whether a file with arguments is for the trainer: by its program, or by `says` where there is none.
bool is_for_group_trainer(const Document& document, const GroupTrainer& trainer,
                          bool (*says)(const Document& document));
/// Whether a file of keys says RLOO, by a key of its own or a name.
bool says_rloo(const Document& document);

/// Completions of a prompt, and the batches that are generated at once.
void read_generation(Reader& reader, TrainPlan& plan);
/// What the loss of GRPO asks besides its name.
void read_ratios(Reader& reader, GrpoPlan& grpo);
/// scale_rewards: a name, or whether to.
void read_reward_scale(Reader& reader, GrpoPlan& grpo, std::string_view key = "scale_rewards");

/// What tokens are drawn from; vLLM does it in memory of its own.
void read_sampling(Reader& reader, GrpoPlan& grpo);

/// `training` and rows of the trainer: its arguments stand in the file under their own names.
void read_groups(Reader& reader, const GroupTrainer& trainer, Draft& draft);
/// The whole of a file with trl's arguments, and of a script.
void read_group_file(Reader& reader, const GroupTrainer& trainer, Draft& draft);
void read_group_script(Reader& reader, const GroupTrainer& trainer, Draft& draft);

}  // namespace vramfit::trainers
