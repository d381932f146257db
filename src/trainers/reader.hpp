// Reading one trainer's file: typed values by key, each noted with where it came from.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/problems.hpp"
#include "trainers/read_text.hpp"
#include "vramfit/spec/named.hpp"
#include "vramfit/trainers/reading.hpp"

namespace vramfit::trainers {

/// A key of a format. `key` is a path; "a.*" stands for everything below "a".
struct KeyRow {
    std::string_view key;
    KeyUse use = KeyUse::harmless;
    std::string_view says = {};  ///< used: the field it sets; unsupported: what it is
    std::string_view other =
        {};  ///< used: two values that differ, "4|8"; unsupported: values that do nothing, "auto|1"
};

/// Evaluation during training, as a file asks for it.
struct AskedEvaluation {
    std::int64_t rows = 8;        ///< of a batch on one card
    std::int64_t train_rows = 1;  ///< of a training step, before packing
    bool packed = false;          ///< if training's rows are
    std::string key;              ///< that says how many
    FilePlace place;
    std::optional<std::int64_t> accumulation = {};  ///< batches whose logits stay on the GPU, where they are kept
};

/// How long the rows of GRPO can be.
struct GroupRowsDraft {
    std::int64_t completion = 512;
    std::optional<std::int64_t> prompt;  ///< that an older release's key says, or ms-swift's
    std::string prompt_key = "max_prompt_length";
};

/// What Unsloth's functions are told, beside what a plan of transformers has.
struct UnslothDraft {
    UnslothPlan plan;
    std::string copy;                  ///< the packed checkpoint that is taken in place of the one that is named
    std::vector<std::string> inexact;  ///< why its own step is not what is predicted, beside what the plan's check says
};

/// The question while it is put together.
struct Draft {
    Job job;
    bool has_model = false;
    std::int64_t length_limit = 0;  ///< 0: the trainer does not cut
    std::string length_key;
    FilePlace length_place;
    bool packed = false;           ///< rows are filled up to the limit
    bool padded_to_limit = false;  ///< short rows are padded up to the limit
    std::int64_t packed_rows = 1;  ///< so many limits in the one row of a batch
    bool one_row = false;          ///< a batch of packed rows is one row
    std::optional<AskedEvaluation> evaluation;
    std::optional<GroupRowsDraft> group;  ///< GRPO
    bool packing_needs_mask = false;      ///< packed rows come with a mask that keeps their parts apart
    std::int64_t pad_multiple = 1;        ///< rows of a batch are padded up to a multiple of this
    bool no_padding_mask = false;         ///< rows of a batch are never told apart by a mask
    std::optional<std::int64_t> gpus;
    FilePlace gpus_place;
    std::string gpus_key;
    std::int64_t machines = 1;
    /// As many processes as a parallelism_config is made for, and the key that says so.
    std::optional<std::int64_t> mesh_size;
    std::string mesh_key;
    FilePlace mesh_place;
    std::optional<DistributedPlan> processes;  ///< what the trainer makes of several cards; absent: not known
    /// Why FSDP under this trainer is not predicted; nullptr: the trainer is transformers' own.
    const char* no_fsdp = "what this trainer makes of FSDP is not known";
    /// The same for version 2, and where cpu_ram_efficient_loading is off; nullptr: they are.
    const char* no_fsdp2 = nullptr;
    const char* no_fsdp_without_ram_efficient_loading = nullptr;
    bool loads_on_card = false;  ///< each process of several, but for what zero.Init cuts
    std::string fsdp_key;        ///< the key that asks for FSDP
    /// The same for ZeRO-1 and 2, and for ZeRO-3.
    const char* no_zero = "what this trainer makes of DeepSpeed is not known";
    const char* no_zero3 = no_zero;
    const char* no_int8_in_zero3 = nullptr;  ///< with which the trainer itself stops
    bool starts_processes = false;           ///< the trainer starts a process for each card that it sees
    bool training_read = false;
    std::optional<UnslothDraft> unsloth;  ///< of Unsloth's files
    bool reentrant_unless_ddp = false;    ///< checkpoints, where no argument says which (ms-swift)
};

struct Range {
    std::int64_t low = 0;
    std::int64_t high = std::int64_t{1} << 31;
};

/// What becomes of keys that no row of a table names.
struct UnknownKeys {
    std::string_view releases = {};           ///< whose keys all stand in the table; empty: unknown ones get a note
    std::span<const std::string> named = {};  ///< by other values of the file: "${output_dir}"
};

/// The file, its table and what was found so far. Every `get` of a key that is absent gives nothing; of a wrong type it
/// reports a problem and gives nothing.
class Reader {
  public:
    Reader(const Document& document, std::span<const std::span<const KeyRow>> keys, const TrainerQuestion& question,
           Reading& reading, Problems& problems);

    const Document& document() const { return *document_; }
    const TrainerQuestion& question() const { return *question_; }
    Reading& reading() { return *reading_; }
    const Stack& stack() const { return question_->stack; }

    /// The value at a key; null and absent are the same.
    const Value* value(std::string_view key);
    bool has(std::string_view key) { return value(key) != nullptr; }

    std::optional<std::int64_t> integer(std::string_view key, Range range = {});
    std::optional<double> real(std::string_view key, double low = 0);
    std::optional<bool> boolean(std::string_view key);
    std::optional<std::string> text(std::string_view key);
    /// A list of names, or one text with names between commas.
    std::optional<std::vector<std::string>> texts(std::string_view key);

    /// The same with the trainer's own default, which is noted.
    std::int64_t integer_or(std::string_view key, std::int64_t otherwise, Range range = {});
    double real_or(std::string_view key, double otherwise);
    bool boolean_or(std::string_view key, bool otherwise);
    std::string text_or(std::string_view key, std::string_view otherwise);

    /// Notes a value that follows from others.
    void derive(std::string_view field, std::string value, std::string why);
    /// Notes a default for a key that the file does not have.
    void assume(std::string_view key, std::string value);

    /// The value of that key cannot be predicted; nothing if --assume-off names it.
    void refuse(std::string_view key, std::string what, std::string hint = {});
    void invalid(std::string_view key, std::string what, std::string hint = {});
    void note(RemarkKind kind, std::string text, std::string hint = {});
    bool assumed_off(std::string_view key) const;

    FilePlace place(std::string_view key) const;
    /// Keys whose effect is not predicted are refused; so are those that no row names, if they can only be mistakes.
    void judge_keys(const UnknownKeys& unknown = {});
    /// The keys that were asked for, for tests.
    const std::set<std::string, std::less<>>& asked() const { return asked_; }

  private:
    const KeyRow* row_of(std::string_view key) const;
    void judge(const std::string& path, const Value& value, const UnknownKeys& unknown);
    void judge_unknown(const std::string& path, const UnknownKeys& unknown);
    /// For what a script computes.
    void ask(std::string_view key, const Value& unread);
    void wrong_type(std::string_view key, const Value& value, std::string_view wanted);
    void took(std::string_view key, const Value& value);

    const Document* document_;
    std::span<const std::span<const KeyRow>> keys_;
    const TrainerQuestion* question_;
    Reading* reading_;
    Problems* problems_;
    std::set<std::string, std::less<>> asked_;
};

/// One of a list of words; reports others.
template <class E>
std::optional<E> choice(Reader& reader, std::string_view key, std::span<const Named<E>> names) {
    const auto word = reader.text(key);
    if (!word) return std::nullopt;
    for (const auto& each : names)
        if (each.name == *word) return each.value;
    std::string known;
    for (const auto& each : names) known += (known.empty() ? "" : ", ") + std::string(each.name);
    reader.refuse(key, "'" + *word + "' is not supported", "supported: " + known);
    return std::nullopt;
}

}  // namespace vramfit::trainers
