// Networks beside the one that is trained, as trainers' files name them.
#pragma once

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// The network of a name, with nothing said of how it is loaded; nothing where it is refused or not found, which is
/// reported at `key`.
std::optional<SecondNetwork> second_by_name(Reader& reader, std::string_view key, const std::string& name);

/// reward_model_name_or_path of trl's scripts: loaded as the policy is (`model_init_kwargs` of both), in host memory.
void read_reward_model_of_trl(Reader& reader, Draft& draft);

/// reward_funcs of a script's GRPOTrainer or RLOOTrainer: names of models, loaded models and functions.
void read_reward_sources(Reader& reader, Draft& draft);

/// teacher_model of a script's GKDTrainer: a name, or a loaded model.
void read_teacher_of_script(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
