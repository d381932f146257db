// Unsloth's files: whether its own step is predicted, or plain transformers as its upper bound.
#pragma once

#include <string>
#include <string_view>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// What `use_gradient_checkpointing` says; adds a reason where it switches it off.
void read_unsloth_checkpointing(const std::string& word, UnslothDraft& draft);

/// The checkpoint that from_pretrained takes for the name, where weights are loaded in 4 bits.
void read_unsloth_checkpoint(const std::string& name, const Environment& environment, UnslothDraft& draft);

/// Behind all else: the plan becomes one of Unsloth's loop if it was compared with all that the file asks for; else a
/// note says what bars it, and that an upper bound is predicted.
void settle_unsloth(const TrainerQuestion& question, Draft& draft, Reading& reading);

}  // namespace vramfit::trainers
