// Trainer formats: one file each in src/trainers/trainer_formats, with a table of all keys and a function that reads
// them.
#pragma once

#include <span>

#include "trainers/read_text.hpp"
#include "trainers/reader.hpp"

namespace vramfit {

/// What a file of a format describes; one file at most is the training itself.
/// The files of a run are read in this order.
enum class TrainerPart : std::uint8_t { training, engine, launch, adapter, model, other };

/// The keys of the trainer for the knobs that make a run smaller; nullptr: it has none.
struct TrainerKnobs {
    const char* batch = nullptr;
    const char* accumulation = nullptr;
    const char* length = nullptr;
    const char* checkpointing = nullptr;
    const char* checkpointing_on = "true";
    const char* optimizer = nullptr;
    const char* optimizer_small = "paged_adamw_8bit";
    const char* quantize = nullptr;  ///< edits "KEY=VALUE", separated by blanks
    const char* rank = nullptr;
};

/// One format. A plug-in.
struct TrainerFormat {
    const char* name;     ///< "axolotl": the word after --format-of
    const char* title;    ///< with the release that the table was read in: "axolotl 0.18"
    const char* summary;  ///< one line of help
    int order;            ///< recognised in this order: sure signs first
    TrainerPart part = TrainerPart::training;
    bool (*recognises)(const trainers::Document&) = nullptr;
    std::span<const std::span<const trainers::KeyRow>> keys;
    /// The model that the file names, or nothing.
    std::string (*model)(trainers::Reader&) = nullptr;
    /// A network that the file itself describes, as the text of a config.json, or nothing; may be null.
    std::string (*network)(trainers::Reader&) = nullptr;
    /// Reads the file into the draft.
    void (*read)(trainers::Reader&, trainers::Draft&) = nullptr;
    TrainerKnobs knobs = {};
};

/// All formats, in no useful order.
std::span<const TrainerFormat* const> all_trainer_formats();

/// The format of that name, or nullptr.
const TrainerFormat* find_trainer_format(std::string_view name);

}  // namespace vramfit
