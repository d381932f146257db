// FSDP as trainers' and launchers' files set it up: options, their defaults by who reads them, versions.
#include "trainers/fsdp.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/split.hpp"
#include "trainers/fsdp_options.hpp"
#include "trainers/keys/fsdp.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit::trainers {

namespace {

/// accelerate 1.15.0, utils/constants.py FSDP_SHARDING_STRATEGY: by name, or by number from 1.
constexpr std::pair<std::string_view, FsdpStrategy> kStrategies[] = {
    {"FULL_SHARD", FsdpStrategy::full_shard},
    {"SHARD_GRAD_OP", FsdpStrategy::shard_grad_op},
    {"NO_SHARD", FsdpStrategy::no_shard},
    {"HYBRID_SHARD", FsdpStrategy::hybrid_shard},
    {"HYBRID_SHARD_ZERO2", FsdpStrategy::hybrid_shard_zero2}};

}  // namespace

std::optional<FsdpStrategy> strategy_named(std::string_view word) {
    for (std::size_t i = 0; i < std::size(kStrategies); ++i)
        if (word == kStrategies[i].first || word == std::to_string(i + 1)) return kStrategies[i].second;
    return std::nullopt;
}

std::string in_capitals(std::string word) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return word;
}

namespace {

constexpr const char* kWrapEach = "TRANSFORMER_BASED_WRAP: each decoder layer is gathered by itself";

/// accelerate 1.15.0: commands/launch.py has a default, and utils/dataclasses.py set_auto_wrap_policy takes 0 for none.
std::int64_t read_least_size(FsdpOptions& options) {
    Reader& reader = options.reader();
    const std::string key = options.key("min_num_params");
    const std::int64_t otherwise = options.source().arguments ? 0 : 100'000'000;
    const std::int64_t least = reader.integer_or(key, otherwise, {.low = 0});
    if (least == 0)
        reader.note(
            RemarkKind::odd_value,
            fmt::format("{} 0 with SIZE_BASED_WRAP means NO_WRAP to accelerate: all layers are gathered at once", key),
            kWrapEach);
    return least;
}

/// Which modules are units. accelerate does not wrap any where nothing is said, which is seldom meant.
WrapPolicy policy_of(FsdpOptions& options) {
    Reader& reader = options.reader();
    const bool by_words = options.source().by_words;
    const std::string key = by_words ? "fsdp" : options.key("auto_wrap_policy");
    const std::string policy =
        by_words ? std::string(options.source().policy) : in_capitals(reader.text_or(key, options.source().policy));
    if (policy == "TRANSFORMER_BASED_WRAP") return WrapPolicy::transformer_based;
    if (policy == "SIZE_BASED_WRAP") return WrapPolicy::size_based;
    if (policy != "NO_WRAP")
        reader.invalid(key, fmt::format("accelerate knows no policy {}", policy),
                       "TRANSFORMER_BASED_WRAP, SIZE_BASED_WRAP, NO_WRAP");
    else if (by_words)
        reader.note(RemarkKind::odd_value, "fsdp without auto_wrap means NO_WRAP: all layers are gathered at once",
                    "full_shard auto_wrap: each decoder layer is gathered by itself");
    else if (!reader.has(key))
        reader.note(
            RemarkKind::odd_value,
            fmt::format("{} is left out, which means NO_WRAP to accelerate: all layers are gathered at once", key),
            kWrapEach);
    return WrapPolicy::none;
}

// accelerate 1.15.0, utils/dataclasses.py set_auto_wrap_policy: without names the model's own _no_split_modules.
template <class Plan>
void read_units(FsdpOptions& options, const Draft& draft, Plan& plan) {
    Reader& reader = options.reader();
    plan.wrap_policy = policy_of(options);
    if (plan.wrap_policy == WrapPolicy::size_based) {
        plan.min_num_params = read_least_size(options);
        if (plan.min_num_params == 0) plan.wrap_policy = WrapPolicy::none;
    }
    const bool by_class = plan.wrap_policy == WrapPolicy::transformer_based;
    const std::string expected = draft.has_model ? decoder_layer_class(draft.job.model) : std::string();
    std::vector<std::string> classes =
        reader.texts(options.key("transformer_layer_cls_to_wrap")).value_or(std::vector<std::string>());
    for (const std::string& name : classes)
        if (by_class && !expected.empty() && name != expected)
            options.refuse("transformer_layer_cls_to_wrap",
                           fmt::format("units of {} are not predicted for {}", name, draft.job.model.model_type),
                           "the class of the model's decoder layers alone, or leave it out");
    if (by_class) plan.layer_classes = std::move(classes);
}

/// Whether shards live in host memory: TrainingArguments look at Python's truth, in which "false" is true.
bool read_offload(FsdpOptions& options) {
    if (options.source().by_words) return options.offloads;
    const std::string key = options.key(options.source().offload);
    const Value* value = options.reader().value(key);
    const bool text = value && value->kind == Value::Kind::text && options.source().arguments;
    return text ? !value->text.empty() : options.reader().boolean(key).value_or(options.offloads);
}

// accelerate 1.15.0, utils/dataclasses.py FullyShardedDataParallelPlugin.__post_init__.
DistributedMethod read_version_2(FsdpOptions& options, const Draft& draft) {
    Fsdp2Plan plan;
    read_units(options, draft, plan);
    plan.reshard_after_forward = options.boolean("reshard_after_forward", options.reshards);
    plan.activation_checkpointing = options.boolean("activation_checkpointing", false);
    plan.cpu_ram_efficient_loading = options.boolean("cpu_ram_efficient_loading", options.source().ram_efficient);
    plan.cpu_offload = read_offload(options);
    return plan;
}

/// "" if it is absent; in capitals.
std::string word_of(FsdpOptions& options, std::string_view name) {
    return in_capitals(options.reader().text(options.key(name)).value_or(""));
}

FsdpStrategy strategy_of(FsdpOptions& options) {
    const std::string word = word_of(options, "sharding_strategy");
    const auto strategy = strategy_named(word.empty() ? "FULL_SHARD" : word);
    if (!strategy)
        options.reader().invalid(options.key("sharding_strategy"), fmt::format("torch has no strategy {}", word),
                                 "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2");
    return strategy.value_or(FsdpStrategy::full_shard);
}

/// accelerate takes `sharding_strategy or reshard_after_forward`: the second never counts.
void note_unused_strategy(FsdpOptions& options, std::string_view key, const std::string& word) {
    if (strategy_named(word) == FsdpStrategy::full_shard) return;
    options.reader().note(RemarkKind::odd_value,
                          fmt::format("{} {} has no effect under FSDP1: accelerate 1.15 takes FULL_SHARD", key, word),
                          "fsdp_sharding_strategy in accelerate's file");
}

// The same places. accelerate takes `sharding_strategy or reshard_after_forward`, and the first always says something:
// FULL_SHARD, unless accelerate's file or launcher has another.
DistributedMethod read_version_1(FsdpOptions& options, const Draft& draft) {
    Fsdp1Plan plan;
    read_units(options, draft, plan);
    const bool arguments = options.source().arguments;
    plan.sharding_strategy = options.strategy.value_or(arguments ? FsdpStrategy::full_shard : strategy_of(options));
    const bool by_words = options.source().by_words;
    const Value* const reshards = by_words ? nullptr : options.reader().value(options.key("reshard_after_forward"));
    const bool named = reshards && reshards->kind == Value::Kind::text;  // a launcher's file may say true
    const std::string strategy = !by_words && (arguments || named) ? word_of(options, "reshard_after_forward") : "";
    if (arguments && !strategy.empty() && !strategy_named(strategy))
        options.refuse("reshard_after_forward", fmt::format("{} is not predicted", strategy), "FULL_SHARD");
    else if (strategy_named(strategy))
        note_unused_strategy(options, options.key("reshard_after_forward"), strategy);
    const std::string prefetch = word_of(options, "backward_prefetch");
    if (prefetch == "BACKWARD_PRE" || prefetch == "1")
        plan.backward_prefetch = BackwardPrefetch::pre;
    else if (prefetch == "BACKWARD_POST" || prefetch == "2")
        plan.backward_prefetch = BackwardPrefetch::post;
    else if (!prefetch.empty() && prefetch != "NO_PREFETCH" && prefetch != "NONE")
        options.refuse("backward_prefetch", fmt::format("{} is not predicted", prefetch),
                       "BACKWARD_PRE, BACKWARD_POST or NO_PREFETCH");
    plan.forward_prefetch = options.boolean("forward_prefetch", false);
    if (arguments) plan.limit_all_gathers = options.boolean("limit_all_gathers", true);
    plan.sync_module_states = options.boolean("sync_module_states", true);
    plan.activation_checkpointing = options.boolean("activation_checkpointing", false);
    plan.use_orig_params = options.boolean("use_orig_params", true);
    // What one process loads has to be sent. The others' weights come from nowhere.
    plan.cpu_ram_efficient_loading = options.boolean("cpu_ram_efficient_loading", options.source().ram_efficient);
    if (plan.cpu_ram_efficient_loading) plan.sync_module_states = true;
    plan.cpu_offload = read_offload(options);
    return plan;
}

/// Who reads the options of a version.
struct FsdpVersion {
    std::int64_t version;
    DistributedMethod (*read)(FsdpOptions& options, const Draft& draft);
};
constexpr FsdpVersion kFsdpVersions[] = {{1, read_version_1}, {2, read_version_2}};

}  // namespace

void read_fsdp_version(FsdpOptions& options, Draft& draft) {
    Reader& reader = options.reader();
    if (options.source().by_words) {
        draft.processes.emplace().method = read_version_1(options, draft);
        return;
    }
    const std::string key = options.key("version");
    const std::int64_t version = reader.integer_or(key, options.source().version, {.low = 1, .high = 2});
    for (const FsdpVersion& each : kFsdpVersions)
        if (each.version == version) draft.processes.emplace().method = each.read(options, draft);
}

bool python_truth(const Value& value) {
    switch (value.kind) {
        case Value::Kind::null: return false;
        case Value::Kind::boolean: return value.boolean;
        case Value::Kind::integer:
        case Value::Kind::real: return value.real != 0;
        case Value::Kind::text: return !value.text.empty();
        case Value::Kind::list:
        case Value::Kind::map: return !value.items.empty();
        case Value::Kind::unread: return true;
    }
    return false;
}

namespace {

// transformers 5.17.0, training_args.py _apply_legacy_fsdp_to_config; what reshards has no effect in version 1.
void read_words(Reader& reader, const Value& asked, std::int64_t version, FsdpOptions& options) {
    std::vector<std::string> words;
    for (const Value& item : asked.items) words.push_back(item.text);
    if (asked.kind == Value::Kind::text && asked.text != "True" && asked.text != "true")
        for (const std::string_view word : split(asked.text, ' '))
            if (!word.empty()) words.emplace_back(word);
    for (const std::string& word : words) {
        if (word == "full_shard" || word == "auto_wrap") continue;
        if (word == "shard_grad_op") options.reshards = false;
        if (version == 1 && strategy_named(in_capitals(word)))
            note_unused_strategy(options, "fsdp", in_capitals(word));
        else if (word == "offload")
            options.offloads = true;
        else if (word == "shard_grad_op")
            continue;
        else if (version == 1)
            reader.refuse("fsdp", fmt::format("'{}' is not predicted", word), "full_shard auto_wrap");
        else
            reader.invalid("fsdp", fmt::format("TrainingArguments stop at '{}' under FSDP2", word),
                           "full_shard, shard_grad_op, offload, auto_wrap");
    }
}

}  // namespace

const std::span<const KeyRow> kFsdpOfAccelerate = kAccelerateFsdpRows;
const std::span<const KeyRow> kFsdpArguments = kArgumentFsdpRows;

// transformers 5.17.0, training_args.py _process_fsdp_args.
void read_fsdp_arguments(Reader& reader, Draft& draft) {
    draft.no_fsdp = nullptr;
    const Value* asked = reader.value("fsdp");
    if (!asked || !python_truth(*asked)) return;
    const Value* config = reader.value("fsdp_config");
    if (config && config->kind != Value::Kind::map)
        return reader.refuse("fsdp_config", "options in a file of their own are not read",
                             "write them into this file: fsdp_config: {version: 2, ...}");
    if (reader.stack().transformers < Version{5, 0, 0}) return read_fsdp_arguments_4(reader, *asked, draft);
    FsdpOptions options(reader, {.prefixes = {"fsdp_config.fsdp_", "fsdp_config."},
                                 .offload = "cpu_offload",
                                 .arguments = true,
                                 .version = 2,
                                 .policy = "TRANSFORMER_BASED_WRAP"});
    read_words(reader, *asked, reader.integer(options.key("version")).value_or(2), options);
    draft.fsdp_key = "fsdp";
    read_fsdp_version(options, draft);
}

namespace {

/// What the trainer makes impossible.
void refuse_for_trainer(FsdpOptions& options, const Draft& draft) {
    if (!draft.training_read || !draft.processes) return;
    const Fsdp1Plan* const first = draft.processes->as<Fsdp1Plan>();
    if (!first && draft.no_fsdp2) options.refuse("version", draft.no_fsdp2, "1");
    if (first && !first->cpu_ram_efficient_loading && draft.no_fsdp_without_ram_efficient_loading)
        options.refuse("cpu_ram_efficient_loading", draft.no_fsdp_without_ram_efficient_loading, "true");
}

}  // namespace

void read_fsdp_of_accelerate(Reader& reader, Draft& draft) {
    const bool argument = reader.boolean("use_fsdp").value_or(false);
    const std::string key = argument ? "use_fsdp" : "distributed_type";
    if (!draft.fsdp_key.empty())
        return reader.refuse(key, "TrainingArguments' fsdp and accelerate's together are not predicted",
                             "leave one of them out");
    if (draft.no_fsdp && draft.training_read) return reader.refuse(key, draft.no_fsdp, "without FSDP it is predicted");
    FsdpOptions options(
        reader, {.prefixes = argument ? std::vector<std::string_view>{"fsdp_", "fsdp_config.fsdp_"}
                                      : std::vector<std::string_view>{"fsdp_config.fsdp_", "fsdp_config.", "fsdp_"},
                 .offload = "offload_params",
                 .ram_efficient = true,
                 .policy = "NO_WRAP"});
    draft.fsdp_key = key;
    read_fsdp_version(options, draft);
    refuse_for_trainer(options, draft);
    // utils/launch.py: texts from a command line are true, whatever they say.
    const std::string sync = options.key("sync_module_states");
    const Value* states = reader.value(sync);
    if (states && states->kind == Value::Kind::boolean && !states->boolean &&
        options.boolean("cpu_ram_efficient_loading", true))
        reader.invalid(sync, "accelerate stops: cpu_ram_efficient_loading needs it", "true");
}

}  // namespace vramfit::trainers
