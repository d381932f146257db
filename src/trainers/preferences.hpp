// trl's trainers of preferences as files and scripts ask for them.
#pragma once

#include <string_view>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// A trainer by its words.
struct PreferenceTrainer {
    std::string_view word;    ///< of `trl dpo`, and of the names of files
    std::string_view name;    ///< "DPOTrainer"
    std::string_view config;  ///< "DPOConfig"
    LoopKind loop;
};

/// The trainer by its word, or by its class; nullptr: none that is predicted.
const PreferenceTrainer* preference_trainer(std::string_view word_or_name);

/// `training` and rows of the trainer: its arguments stand in the file under their own names.
void read_preferences(Reader& reader, const PreferenceTrainer& trainer, Draft& draft);

/// DPO's losses of each pair under this key, one or several.
void read_pair_losses(Reader& reader, std::string_view key, PreferencePlan& plan);

/// What decides about the loss of a trainer of pairs or unpaired rows.
void read_losses_of(Reader& reader, LoopKind loop, PreferencePlan& plan);

/// The task of the adapters: those of what classifies, reward models too, have to be told so. `trained`: what it is
/// called.
void judge_task(Reader& reader, std::string_view key, std::string_view trained, const Draft& draft);

/// What is asked of evaluation, where it is not predicted.
void refuse_evaluation(Reader& reader, std::string_view why, Draft& draft);

/// What these trainers make of a divided model is not predicted.
void refuse_divided(Draft& draft);
/// The same of trl's own trainers, of which DPO's was compared under ZeRO and FSDP2.
void refuse_divided_of_trl(const PreferenceTrainer& trainer, Draft& draft);

}  // namespace vramfit::trainers
