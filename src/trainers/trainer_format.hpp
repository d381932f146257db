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

/// The keys of the trainer for the knobs that make a run smaller; nullptr: it has none. "one|other" is the key that the
/// file has, else the last. From `checkpointing` on they are edits "KEY=VALUE", separated by blanks; without a value
/// the key is taken out, and a list in brackets is added to the file's own.
struct TrainerKnobs {
    const char* batch = nullptr;
    const char* accumulation = nullptr;
    const char* whole_batch = nullptr;  ///< with which the trainer finds the accumulation itself
    const char* rank = nullptr;
    const char* checkpointing = nullptr;
    const char* sdpa = nullptr;
    const char* flash_attention = nullptr;
    const char* liger = nullptr;
    const char* optimizer_in_backward = nullptr;
    const char* optimizer = nullptr;  ///< in 8 bits, paged
    const char* unpacked = nullptr;
    const char* double_quant = nullptr;
    const char* bfloat16 = nullptr;  ///< a base that is in float32
    const char* quantize = nullptr;  ///< to 4 bits
    const char* lora = nullptr;      ///< instead of full training
    const char* qlora = nullptr;
};

/// One format. A plug-in.
struct TrainerFormat {
    const char* name;             ///< "axolotl": the word after --format-of
    const char* title;            ///< with the release that the table was read in: "axolotl 0.18"
    const char* summary;          ///< one line of help
    const char* stack = nullptr;  ///< that its newest release is installed with; nullptr: none of its own
    int order;                    ///< recognised in this order: sure signs first
    TrainerPart part = TrainerPart::training;
    bool (*recognises)(const trainers::Document&) = nullptr;
    std::span<const std::span<const trainers::KeyRow>> keys;
    /// "axolotl up to 0.19": all their keys stand in the table, and others are mistakes; nullptr: others get a note.
    const char* releases = nullptr;
    bool (*is_of_release)(const trainers::Document&) = nullptr;  ///< for which files that is so; nullptr: for all
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
