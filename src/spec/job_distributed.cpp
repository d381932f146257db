// Job files: several processes, the key `distributed`.
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "spec/job_deepspeed.hpp"
#include "spec/job_read.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

// transformers 5.17.0, training_args.py: ddp_*.
DistributedMethod read_ddp(std::optional<ObjectReader> given, std::string_view /*layer_class*/) {
    DdpPlan plan;
    if (!given) return plan;
    ObjectReader& arguments = *given;
    plan.find_unused_parameters = arguments.boolean("ddp_find_unused_parameters", Null::absent);
    plan.bucket_cap_mb =
        arguments.integer("ddp_bucket_cap_mb", {.low = 1, .high = std::int64_t{1} << 20}, Null::absent);
    plan.broadcast_buffers = arguments.boolean("ddp_broadcast_buffers", Null::absent);
    plan.static_graph = arguments.boolean("ddp_static_graph", Null::absent).value_or(false);
    arguments.refuse_unknown();
    return plan;
}

DistributedMethod read_zero_plan(std::optional<ObjectReader> given, std::string_view /*layer_class*/) {
    return given ? read_deepspeed(std::move(*given)) : ZeroPlan{};  // without a file Trainer has no DeepSpeed
}

/// Options that would change what is cut, gathered or kept, where the value is not the only one that is known here.
void refuse_fsdp(ObjectReader& config, std::string_view key, std::string problem, std::string hint) {
    config.problems().unsupported(config.path(key), std::move(problem), std::move(hint));
}

/// training_args.py _process_fsdp_args: booleans may be texts.
std::optional<bool> fsdp_boolean(ObjectReader& config, std::string_view key) {
    const JsonValue* value = config.value(key);
    if (!value || value->kind != JsonValue::Kind::text) return config.boolean(key, Null::absent);
    constexpr Named<bool> kWords[] = {{"true", true}, {"True", true}, {"false", false}, {"False", false}};
    return config.choice<bool>(key, kWords);
}

/// A word that may be in capitals. Of those that are not `known`, no behaviour was compared.
template <class T, std::size_t N>
void read_word(ObjectReader& config, std::string_view key, const Named<T> (&known)[N], T& target) {
    const auto given = config.text(key, Null::absent);
    if (!given) return;
    const std::string word = lower_case(*given);
    std::vector<std::string_view> words;
    for (const auto& [name, value] : known) {
        if (name == word) target = value;
        words.push_back(name);
    }
    if (std::find(words.begin(), words.end(), word) == words.end())
        refuse_fsdp(config, key, fmt::format("'{}' is not supported", word),
                    fmt::format("{}", fmt::join(words, " or ")));
}

/// Which modules are units. accelerate 1.15.0, utils/dataclasses.py set_auto_wrap_policy: by a size of 0 none is.
template <class Plan>
void read_wrapping(ObjectReader& config, std::string_view layer_class, Plan& plan) {
    read_word(config, "auto_wrap_policy", kWrapPolicyNames, plan.wrap_policy);
    const std::int64_t least = config.integer("min_num_params", {.low = 0}, Null::absent).value_or(0);
    if (plan.wrap_policy == WrapPolicy::size_based) {
        plan.min_num_params = least;
        if (least == 0) plan.wrap_policy = WrapPolicy::none;
    }
    std::vector<std::string> classes;
    constexpr std::string_view kClasses = "transformer_layer_cls_to_wrap";
    const JsonValue* given = config.value(kClasses);
    if (given && given->kind == JsonValue::Kind::text)
        classes.push_back(config.text(kClasses).value_or(""));
    else
        classes = config.texts(kClasses, Null::absent).value_or(classes);
    for (const std::string& name : classes)
        if (plan.wrap_policy == WrapPolicy::transformer_based && !layer_class.empty() && name != layer_class)
            refuse_fsdp(config, kClasses, fmt::format("units of {} are not supported", name),
                        "the model's decoder layer, or leave it out");
    if (plan.wrap_policy == WrapPolicy::transformer_based) plan.layer_classes = std::move(classes);
}

// transformers 5.17.0, training_args.py _process_fsdp_args. accelerate 1.15.0 gives FSDP `sharding_strategy or
// reshard_after_forward`, and the first is FULL_SHARD where only Trainer's arguments say something: the second has no
// effect. `sharding_strategy` is what accelerate's launcher says (FSDP_SHARDING_STRATEGY).
DistributedMethod read_fsdp1(std::optional<ObjectReader> given, std::string_view layer_class) {
    Fsdp1Plan plan;
    if (!given) return plan;
    ObjectReader& config = *given;
    read_wrapping(config, layer_class, plan);
    const std::string strategy = config.text("reshard_after_forward", Null::absent).value_or("full_shard");
    const auto* const known = std::find_if(std::begin(kFsdpStrategyNames), std::end(kFsdpStrategyNames),
                                           [&](const auto& each) { return each.name == strategy; });
    if (known == std::end(kFsdpStrategyNames))
        refuse_fsdp(config, "reshard_after_forward", fmt::format("'{}' is not supported", strategy), "full_shard");
    read_word(config, "sharding_strategy", kFsdpStrategyNames, plan.sharding_strategy);
    read_word(config, "backward_prefetch", kBackwardPrefetchNames, plan.backward_prefetch);
    ObjectReader::set(plan.forward_prefetch, fsdp_boolean(config, "forward_prefetch"));
    ObjectReader::set(plan.limit_all_gathers, fsdp_boolean(config, "limit_all_gathers"));
    ObjectReader::set(plan.sync_module_states, fsdp_boolean(config, "sync_module_states"));
    ObjectReader::set(plan.activation_checkpointing, fsdp_boolean(config, "activation_checkpointing"));
    ObjectReader::set(plan.use_orig_params, fsdp_boolean(config, "use_orig_params"));
    ObjectReader::set(plan.cpu_offload, fsdp_boolean(config, "cpu_offload"));
    // accelerate 1.15.0, dataclasses.py: what one process loads has to be sent. The others' weights come from nowhere.
    ObjectReader::set(plan.cpu_ram_efficient_loading, fsdp_boolean(config, "cpu_ram_efficient_loading"));
    if (plan.cpu_ram_efficient_loading) plan.sync_module_states = true;
    for (const char* without_effect : {"state_dict_type", "version", "xla"}) (void)config.value(without_effect);
    config.refuse_unknown();
    return plan;
}

// transformers 5.17.0, training_args.py _process_fsdp_args.
DistributedMethod read_fsdp2(std::optional<ObjectReader> given, std::string_view layer_class) {
    Fsdp2Plan plan;
    if (!given) return plan;
    ObjectReader& config = *given;
    read_wrapping(config, layer_class, plan);
    ObjectReader::set(plan.reshard_after_forward, fsdp_boolean(config, "reshard_after_forward"));
    ObjectReader::set(plan.activation_checkpointing, fsdp_boolean(config, "activation_checkpointing"));
    ObjectReader::set(plan.cpu_offload, fsdp_boolean(config, "cpu_offload"));
    ObjectReader::set(plan.cpu_ram_efficient_loading, fsdp_boolean(config, "cpu_ram_efficient_loading"));
    for (const char* without_effect : {"state_dict_type", "version", "xla"}) (void)config.value(without_effect);
    config.refuse_unknown();
    return plan;
}

// transformers 5.17.0, modeling_utils.py from_pretrained, distributed/configuration_utils.py DistributedConfig.
DistributedMethod read_tp(std::optional<ObjectReader> given, std::string_view /*layer_class*/) {
    if (!given) return TpPlan{};
    ObjectReader& config = *given;
    const JsonValue* plan = config.value("tp_plan");
    const bool is_auto =
        !plan || plan->kind == JsonValue::Kind::null || (plan->kind == JsonValue::Kind::text && plan->text == "auto");
    if (!is_auto)
        config.problems().unsupported(config.path("tp_plan"), "a plan other than the model's own is not supported",
                                      "\"auto\"");
    config.refuse_unknown();
    return TpPlan{};
}

/// As many micro batches as processes where nothing is said: read_distributed fills that in.
DistributedMethod read_pipeline(std::optional<ObjectReader> given, std::string_view /*layer_class*/) {
    PipelinePlan plan;
    plan.micro_batches = 0;
    if (!given) return plan;
    ObjectReader& options = *given;
    ObjectReader::set(plan.schedule, options.choice<PipelineSchedule>("schedule", kPipelineNames));
    ObjectReader::set(plan.micro_batches,
                      options.integer("micro_batches", {.low = 1, .high = kMostBatches}, Null::absent));
    ObjectReader::set(plan.virtual_stages, options.integer("virtual_stages", {.low = 1, .high = kMostRanks}));
    ObjectReader::set(plan.return_outputs, options.boolean("return_outputs"));
    options.refuse_unknown();
    return plan;
}

/// Options of other kinds may be there, as long as they are empty.
void refuse_options(ObjectReader& distributed, std::string_view key, std::string_view kind) {
    const JsonValue* options = distributed.value(key);
    const bool none = !options || options->kind == JsonValue::Kind::null ||
                      (options->kind == JsonValue::Kind::object && options->keys.empty());
    if (!none)
        distributed.problems().invalid(distributed.path(key), fmt::format("does not belong to the kind {}", kind),
                                       "leave it out");
}

/// A kind of `distributed`, the key of its options, and who reads them.
struct Method {
    std::string_view kind;
    std::string_view options;
    /// Absent: as the libraries choose.
    DistributedMethod (*read)(std::optional<ObjectReader> options, std::string_view layer_class);
};
constexpr Method kMethods[] = {
    {"ddp", "ddp", read_ddp},
    {"deepspeed", "deepspeed", read_zero_plan},
    {"fsdp1", "fsdp_config", read_fsdp1},
    {"fsdp2", "fsdp_config", read_fsdp2},
    {"tp", "tp", read_tp},
    {"pipeline", "pipeline", read_pipeline},
};
constexpr std::string_view kAllOptions[] = {"ddp", "fsdp_config", "deepspeed", "tp", "pipeline"};

void read_method(ObjectReader& distributed, std::string_view layer_class, DistributedPlan& plan) {
    const std::string kind = distributed.text("kind").value_or("");
    const auto* const method = std::find_if(std::begin(kMethods), std::end(kMethods),
                                            [&kind](const Method& known) { return known.kind == kind; });
    if (method == std::end(kMethods)) {
        std::vector<std::string_view> kinds;
        for (const Method& known : kMethods) kinds.push_back(known.kind);
        distributed.problems().invalid(distributed.path("kind"),
                                       kind.empty() ? "missing" : fmt::format("unknown kind '{}'", kind),
                                       fmt::format("supported: {}", fmt::join(kinds, ", ")));
        for (const std::string_view options : kAllOptions) (void)distributed.value(options);
        return;
    }
    for (const std::string_view options : kAllOptions)
        if (options != method->options) refuse_options(distributed, options, kind);
    auto options = distributed.object(method->options, Null::absent);
    if (!options && kind == "deepspeed")
        distributed.problems().invalid(distributed.path("deepspeed"), "DeepSpeed's configuration is missing",
                                       "the JSON that transformers takes as `deepspeed`");
    plan.method = method->read(std::move(options), layer_class);
}

// accelerate 1.15.0, parallelism_config.py ParallelismConfig, utils/dataclasses.py TorchContextParallelConfig;
// state.py.
void read_context(ObjectReader& distributed, DistributedPlan& plan) {
    ContextPlan context;
    ObjectReader::set(context.size, distributed.integer("cp_size", {.low = 1, .high = kMostRanks}, Null::absent));
    ObjectReader::set(context.gathers, distributed.choice<bool>("cp_comm_strategy", kContextStrategyNames));
    if (context.size == 1) return;
    if (Fsdp2Plan* const fsdp = plan.as<Fsdp2Plan>())
        fsdp->context = context;
    else
        distributed.problems().invalid(distributed.path("cp_size"),
                                       "accelerate stops: context parallelism requires FSDP2", "kind fsdp2");
}

/// Of FSDP2: FSDP1 is accelerate's own everywhere.
void read_preparation(ObjectReader& distributed, DistributedPlan& plan) {
    const auto given = distributed.choice<FsdpPreparation>("prepared_by", kFsdpPreparationNames);
    if (!given || *given == FsdpPreparation::accelerate) return;
    if (Fsdp2Plan* const fsdp = plan.as<Fsdp2Plan>())
        fsdp->prepared_by = *given;
    else
        distributed.problems().invalid(distributed.path("prepared_by"), "only FSDP2 is prepared otherwise",
                                       "kind fsdp2");
}

// accelerate 1.15.0, parallelism_config.py ParallelismConfig. torch's LOCAL_WORLD_SIZE.
void read_groups(ObjectReader& distributed, DistributedPlan& plan) {
    ObjectReader::set(plan.local_world_size,
                      distributed.integer("local_world_size", {.low = 1, .high = kMostRanks}, Null::absent));
    const std::int64_t replicas =
        distributed.integer("dp_replicate_size", {.low = 1, .high = kMostRanks}, Null::absent).value_or(1);
    if (Fsdp2Plan* const fsdp = plan.as<Fsdp2Plan>())
        fsdp->replicas = replicas;
    else if (replicas > 1)
        distributed.problems().unsupported(distributed.path("dp_replicate_size"),
                                           "groups of processes with the same shards are supported with FSDP2 only",
                                           "kind fsdp2; FSDP1 has sharding_strategy hybrid_shard");
}

}  // namespace

std::optional<DistributedPlan> read_training_deepspeed(ObjectReader& training) {
    const JsonValue* given = training.value("deepspeed");
    const bool is_text = given && given->kind == JsonValue::Kind::text;
    if (!given || (is_text && given->text.empty())) return std::nullopt;
    if (is_text) {
        training.problems().unsupported(training.path("deepspeed"), "a path is not followed",
                                        "write the file's content");
        return std::nullopt;
    }
    auto config = training.object("deepspeed", Null::absent);
    if (!config) return std::nullopt;
    DistributedPlan plan;
    plan.world_size = 1;
    plan.load_first = true;
    plan.method = read_deepspeed(std::move(*config));
    return plan;
}

DistributedPlan read_distributed(ObjectReader distributed, std::string_view layer_class) {
    DistributedPlan plan;
    ObjectReader::set(plan.world_size, distributed.integer("world_size", {.low = 1, .high = kMostRanks}));
    const auto rank = distributed.integer("rank", {.low = 0, .high = kMostRanks - 1});
    ObjectReader::set(plan.rank, rank);
    ObjectReader::set(plan.load_on_device, distributed.boolean("load_on_device"));
    read_method(distributed, layer_class, plan);
    read_context(distributed, plan);
    read_groups(distributed, plan);
    read_preparation(distributed, plan);
    PipelinePlan* const pipeline = plan.as<PipelinePlan>();
    if (pipeline && pipeline->micro_batches == 0) pipeline->micro_batches = plan.world_size;
    plan.any_rank = plan.different_ranks() > 1 && !rank;
    plan.rank_is_asked = rank && plan.loads_as_last();
    ObjectReader::set(plan.load_first, distributed.boolean("load_first"));
    (void)distributed.value("events");  // of the tracer
    distributed.refuse_unknown();
    return plan;
}

}  // namespace vramfit
