// What several formats read in the same way: TrainingArguments, adapters, evaluation.
#pragma once

#include <array>
#include <span>

#include "spec/training_names.hpp"
#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Keys as rows that have no effect on memory.
template <std::size_t N>
constexpr std::array<KeyRow, N> harmless_rows(const std::string_view (&keys)[N]) {
    std::array<KeyRow, N> rows{};
    for (std::size_t i = 0; i < N; ++i) rows[i] = {keys[i], KeyUse::harmless, {}, {}};
    return rows;
}

/// Keys as rows that matter, all for one reason.
template <std::size_t N>
constexpr std::array<KeyRow, N> unsupported_rows(const std::string_view (&keys)[N], const char* why) {
    std::array<KeyRow, N> rows{};
    for (std::size_t i = 0; i < N; ++i) rows[i] = {keys[i], KeyUse::unsupported, why, {}};
    return rows;
}

/// The fields of transformers.TrainingArguments that are read, and those that matter and are not predicted.
extern const std::span<const KeyRow> kTrainingArguments;
/// The rest of them.
extern const std::span<const KeyRow> kHarmlessArguments;

/// What a Python script calls, as a key beside its arguments.
inline constexpr const char* kCallsEvaluate = "evaluate()";

/// Defaults of a trainer where it differs from transformers.
struct ArgumentDefaults {
    std::int64_t batch = 8;
    bool checkpointing = false;
    bool bf16 = false;
    std::int64_t evaluation_batch = 8;
    double weight_decay = 0;
    std::int64_t rows_of_update = 0;  ///< where accumulation is not said, batches of all GPUs until there are so many
    bool evaluates_at_end =
        false;  ///< the script calls trainer.evaluate() behind trainer.train() where do_eval is true
};

/// trl 1.16.0 trainer/base_config.py: of all its trainers.
inline constexpr ArgumentDefaults kTrlDefaults = {.batch = 8, .checkpointing = true, .bf16 = true};

/// per_device_train_batch_size, accumulation, precision, checkpointing, optimizer, clipping, evaluation.
void read_training_arguments(Reader& reader, const ArgumentDefaults& defaults, Draft& draft);

/// Several cards under DistributedDataParallel: ddp_* of TrainingArguments.
void read_ddp(Reader& reader, Draft& draft);

/// transformers 5.17.0, training_args.py: the fused one from torch 2.8.
std::string default_optimizer(const Stack& stack);

/// The optimizer by its name; refuses names that transformers does not know.
void read_optimizer(Reader& reader, std::string_view key, std::string otherwise, Draft& draft);

/// Evaluation that only measures the loss, if it is on; `key` says with how many rows.
void ask_for_evaluation(Reader& reader, bool on, std::string_view key, std::int64_t rows, std::int64_t train_rows,
                        Draft& draft);

/// Without names: where peft puts adapters on this network. "all-linear", "all" and one text with signs of a regular
/// expression are kept as one text.
void set_targets(Reader& reader, std::string_view key, const std::vector<std::string>& names, Draft& draft);

/// The value as one text, if it is a scalar that is no list of names.
bool is_pattern(const Value* value);

/// 4-bit nf4 or 8-bit as bitsandbytes does it.
void quantize_4bit(Draft& draft, bool double_quant, DType compute);
void quantize_8bit(Draft& draft);

/// Adapters on a checkpointed network: the embedding's output requires a gradient.
void require_input_grads(Draft& draft);

/// The attention by the words of transformers; refuses others.
void read_attention(Reader& reader, std::string_view key, Draft& draft);

/// A dtype by its name ("auto": the checkpoint's), or nothing.
std::optional<DType> read_dtype(Reader& reader, std::string_view key, const Draft& draft);

}  // namespace vramfit::trainers
