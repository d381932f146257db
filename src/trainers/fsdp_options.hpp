// FSDP's options in a trainer's or launcher's file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// What differs by who reads the options.
struct FsdpSource {
    std::vector<std::string_view> prefixes;  ///< before a name, as it may be written
    std::string_view offload;                ///< the name of the option that puts shards into host memory
    bool arguments = false;                  ///< TrainingArguments; otherwise accelerate
    bool by_words = false;  ///< version 1, and `fsdp` says policy, strategy and offload (transformers 4)
    std::int64_t version = 1;
    bool ram_efficient = false;
    std::string_view policy;
};

/// FSDP's options in a file, by their names without "fsdp_".
class FsdpOptions {
  public:
    FsdpOptions(Reader& reader, FsdpSource source) : reader_(reader), source_(std::move(source)) {}

    Reader& reader() { return reader_; }
    const FsdpSource& source() const { return source_; }

    /// The option's key as the file writes it; one that it could have, if it is absent.
    std::string key(std::string_view name) const {
        std::string first;
        for (const std::string_view prefix : source_.prefixes) {
            std::string key = fmt::format("{}{}", prefix, name);
            if (reader_.has(key)) return key;
            if (first.empty()) first = std::move(key);
        }
        return first;
    }
    bool boolean(std::string_view name, bool otherwise) { return reader_.boolean_or(key(name), otherwise); }
    void refuse(std::string_view name, std::string what, std::string hint) {
        reader_.refuse(key(name), std::move(what), std::move(hint));
    }

    bool reshards = true;  ///< by `fsdp` itself, where fsdp_config does not say it
    bool offloads = false;
    std::optional<FsdpStrategy> strategy = {};  ///< by `fsdp`, where that counts

  private:
    Reader& reader_;
    FsdpSource source_;
};

std::string in_capitals(std::string word);

/// accelerate 1.15.0, utils/constants.py FSDP_SHARDING_STRATEGY: by name in capitals, or by number from 1.
std::optional<FsdpStrategy> strategy_named(std::string_view word);

/// Reads the options of the version that they or their source say.
void read_fsdp_version(FsdpOptions& options, Draft& draft);

/// What Python takes a value for where it asks "if value".
bool python_truth(const Value& value);

/// transformers 4.43.0 to 4.57.6, training_args.py __post_init__: `fsdp` is a list of words.
void read_fsdp_arguments_4(Reader& reader, const Value& asked, Draft& draft);

}  // namespace vramfit::trainers
