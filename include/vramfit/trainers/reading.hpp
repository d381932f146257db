// Reading the files of trainers: axolotl, LLaMA-Factory, TRL and others, into one question with the source of each
// value.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/trainers/place.hpp"

namespace vramfit {

/// A file of a trainer: its name and content.
struct TrainerFile {
    std::string name;
    std::string text;
};

/// A key of the trainer's own file with another value, as it would be written there. An empty value: the key is
/// taken out.
struct TrainerEdit {
    std::string key;
    std::string value;

    friend bool operator==(const TrainerEdit&, const TrainerEdit&) = default;
};

struct TrainerQuestion {
    std::vector<TrainerFile> files;
    std::string format_of;                ///< name of a format; empty: by the files' content
    std::vector<std::string> assume_off;  ///< keys that are read as if they were not there
    std::optional<std::int64_t> seq;      ///< tokens of the longest row, where the data decides
    std::optional<std::int64_t> prompt;   ///< GRPO: tokens of the longest prompt
    std::vector<std::int64_t> lengths;    ///< tokens of each row of the data, of GRPO of each prompt; may be empty
    std::string model;                    ///< goes before what the files name
    std::string model_config;             ///< path of its config.json
    std::optional<std::int64_t> gpus;
    bool bf16_card = true;  ///< the card computes in bfloat16: what "auto" precisions become
    Stack stack;
    Environment environment;
    std::shared_ptr<LoadedModels> models = std::make_shared<LoadedModels>();  ///< of all questions that are copied
    /// Gives a file that another one names, or nothing.
    std::function<std::optional<std::string>(const std::string& path)> open;
    std::vector<TrainerEdit> edits;  ///< applied to the trainer's file before it is read
    std::string bound_because;       ///< why the trainer's own program is not asked about, but its bound; may be empty
};

/// Where a value comes from.
enum class InputSource : std::uint8_t { file, trainer_default, flag, derived };

const char* name_of(InputSource source);

/// A field of the question, its value, and where the value comes from.
struct Input {
    std::string field;  ///< of the job schema: "training.per_device_train_batch_size"
    std::string value;
    InputSource source = InputSource::file;
    std::string key;  ///< of the trainer, or the flag
    FilePlace place;  ///< of the key; empty if it is in no file
};

/// What a reader of the answer should know about how the files were understood.
enum class RemarkKind : std::uint8_t {
    unknown_key,          ///< a key that is not in the table
    assumed_off,          ///< a key that matters was left out by --assume-off
    assumed_length,       ///< no data was given: rows as long as the file allows
    assumed_gpus,         ///< no file says how many cards: one
    other_program,        ///< the trainer's own network code is predicted as transformers': an upper bound
    kernel_not_modelled,  ///< the trainer swaps a part for one of its own that needs other memory
    odd_value             ///< a value or key that the trainer takes in an unexpected way
};

/// The identifier in JSON: "unknown_key".
const char* name_of(RemarkKind kind);

struct ReadingNote {
    RemarkKind kind = RemarkKind::odd_value;
    std::string text;
    std::string hint;
    bool upper_bound = false;  ///< another program runs than the one that is predicted, and needs no more
};

/// A key that matters and cannot be predicted.
struct Refusal {
    std::string key;
    FilePlace place;
    std::string what;
    std::string hint;
};

/// How the length of rows was found.
struct RowLengths {
    std::int64_t limit = 0;  ///< the trainer's maximum; 0: none
    std::string limit_key;   ///< "sequence_len"
    FilePlace limit_place;
    bool fixed = false;         ///< packed or padded: rows are as long as the maximum, whatever the data
    std::int64_t taken = 0;     ///< tokens of a row of the question
    std::int64_t multiple = 1;  ///< rows are padded up to a multiple of this
    std::int64_t rows_cut = 0;  ///< of the given lengths, how many are above the limit
    std::int64_t longest = 0;   ///< of the given lengths
};

struct ReadFile {
    std::string name;
    std::string format;  ///< "axolotl"
    std::string title;   ///< "axolotl 0.18"
};

/// A change to the files that lets the run need less, in the trainer's own keys.
struct Proposal {
    std::string id;     ///< "batch"; several of one kind are in order of what they save
    std::string title;  ///< "4 sequences at a time and 2 times the accumulation"
    std::vector<TrainerEdit> edits;
};

/// What the files say. `job` makes sense only if nothing is refused.
struct Reading {
    std::vector<ReadFile> files;
    std::string trainer_file;  ///< the file that names the training; changes are for it
    Job job;                   ///< without a card
    std::vector<Input> inputs;
    std::vector<Refusal> refusals;
    std::vector<Proposal> proposals;  ///< cheapest first
    RowLengths rows;
    bool bf16_card = true;  ///< of the question
    std::vector<ReadingNote> notes;

    /// Why the prediction is an upper bound, or nullptr: it is exact.
    const ReadingNote* upper_bound() const;

    /// The input that sets a field, or nullptr.
    const Input* input(std::string_view field) const;
};

/// Reads the files together. Throws Error (invalid) for what cannot be understood: broken files, wrong types, values
/// out of range, unknown models; what is understood and cannot be predicted is listed in `refusals`.
Reading read_trainer_files(const TrainerQuestion& question);

/// Throws Error (unsupported) with all refusals, if there are any.
void throw_refusals(const Reading& reading);

/// What is done with a key of a trainer.
enum class KeyUse : std::uint8_t {
    used,        ///< the prediction depends on it
    harmless,    ///< no effect on memory
    unsupported  ///< has an effect that is not predicted
};

const char* name_of(KeyUse use);

/// A row of a format's table, for documents and tests.
struct KnownKey {
    std::string key;
    KeyUse use = KeyUse::harmless;
    std::string says;     ///< used: the field it sets; unsupported: what it is; harmless: may be empty
    std::string samples;  ///< used: two values between which the answer changes, "4|8"; may be empty
};

struct KnownTrainer {
    std::string name;     ///< "axolotl"
    std::string title;    ///< "axolotl 0.18"
    std::string summary;  ///< "YAML of axolotl train"
    std::vector<KnownKey> keys;
};

/// All formats, in order of name.
std::vector<KnownTrainer> known_trainers();

}  // namespace vramfit
