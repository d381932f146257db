// TrainingArguments' fsdp and fsdp_config of transformers 4.
#include <algorithm>

#include "base/split.hpp"
#include "trainers/fsdp_options.hpp"

namespace vramfit::trainers {

namespace {

/// What `fsdp` says: words, of which all but two name strategies.
struct FsdpWords {
    std::optional<FsdpStrategy> strategy;  ///< the last one named; none: accelerate's FULL_SHARD
    bool offloads = false;
    bool wraps = false;
};

std::vector<std::string> words_of(const Value& asked) {
    std::vector<std::string> words;
    for (const Value& item : asked.items) words.push_back(item.text);
    if (asked.kind != Value::Kind::text) return words;
    for (const std::string_view word : split(asked.text, ' '))
        if (!word.empty()) words.emplace_back(word);
    return words;
}

FsdpWords read_words_4(Reader& reader, const Value& asked) {
    FsdpWords out;
    const std::vector<std::string> words = words_of(asked);
    for (const std::string& word : words) {
        const auto strategy = strategy_named(in_capitals(word));
        if (word == "offload")
            out.offloads = true;
        else if (word == "auto_wrap")
            out.wraps = true;
        else if (strategy)
            out.strategy = strategy;
        else
            reader.invalid("fsdp", fmt::format("TrainingArguments stop at '{}'", word),
                           "full_shard, shard_grad_op, no_shard, hybrid_shard, hybrid_shard_zero2, offload, auto_wrap");
    }
    if (words == std::vector<std::string>{"offload"})
        reader.invalid("fsdp", "TrainingArguments stop: offload can't work on its own", "full_shard offload");
    const auto has = [&](const char* word) { return std::find(words.begin(), words.end(), word) != words.end(); };
    if (has("full_shard") && has("shard_grad_op"))
        reader.invalid("fsdp", "TrainingArguments stop: full_shard is not compatible with shard_grad_op",
                       "one of them");
    return out;
}

/// Where they are given: what later releases read.
void note_unread(Reader& reader, const FsdpOptions& options) {
    for (const char* name : {"version", "auto_wrap_policy", "cpu_offload", "reshard_after_forward"}) {
        const std::string key = options.key(name);
        if (!reader.has(key)) continue;
        reader.note(RemarkKind::odd_value, fmt::format("{} has no effect before transformers 5", key),
                    "fsdp: full_shard auto_wrap, with offload for parts in host memory");
    }
}

}  // namespace

void read_fsdp_arguments_4(Reader& reader, const Value& asked, Draft& draft) {
    const FsdpWords words = read_words_4(reader, asked);
    FsdpSource source{.prefixes = {"fsdp_config.fsdp_", "fsdp_config."},
                      .offload = "",
                      .arguments = true,
                      .by_words = true,
                      .policy = {}};
    FsdpOptions named(reader, source);
    const bool by_size = reader.integer(named.key("min_num_params")).value_or(0) > 0;
    if (by_size && reader.has(named.key("transformer_layer_cls_to_wrap")))
        reader.invalid(
            named.key("min_num_params"),
            "TrainingArguments stop: `min_num_params` and `transformer_layer_cls_to_wrap` are mutually exclusive",
            "one of them");
    note_unread(reader, named);
    source.policy = !words.wraps ? "NO_WRAP" : by_size ? "SIZE_BASED_WRAP" : "TRANSFORMER_BASED_WRAP";
    FsdpOptions options(reader, source);
    options.strategy = words.strategy.value_or(FsdpStrategy::full_shard);
    options.offloads = words.offloads;
    draft.fsdp_key = "fsdp";
    read_fsdp_version(options, draft);
}

}  // namespace vramfit::trainers
