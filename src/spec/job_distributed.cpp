// Job files: several processes, the key `distributed`.
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "spec/job_deepspeed.hpp"
#include "spec/job_read.hpp"

namespace vramfit {

namespace {

// transformers 5.17.0, training_args.py: ddp_*.
DistributedMethod read_ddp(std::optional<ObjectReader> given) {
    DdpPlan plan;
    if (!given) return plan;
    ObjectReader& arguments = *given;
    plan.find_unused_parameters = arguments.boolean("ddp_find_unused_parameters", Null::absent);
    plan.bucket_cap_mb =
        arguments.integer("ddp_bucket_cap_mb", {.low = 1, .high = std::int64_t{1} << 20}, Null::absent);
    plan.broadcast_buffers = arguments.boolean("ddp_broadcast_buffers", Null::absent);
    if (arguments.boolean("ddp_static_graph", Null::absent).value_or(false))
        arguments.problems().unsupported(arguments.path("ddp_static_graph"), "static graphs are not supported",
                                         "leave it out");
    arguments.refuse_unknown();
    return plan;
}

DistributedMethod read_zero_plan(std::optional<ObjectReader> given) {
    return given ? read_deepspeed(std::move(*given)) : ZeroPlan{};  // without a file Trainer has no DeepSpeed
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
    DistributedMethod (*read)(std::optional<ObjectReader> options);  ///< absent: as the libraries choose
};
constexpr Method kMethods[] = {
    {"ddp", "ddp", read_ddp},
    {"deepspeed", "deepspeed", read_zero_plan},
};
constexpr std::string_view kAllOptions[] = {"ddp", "fsdp_config", "deepspeed", "tp"};

void read_method(ObjectReader& distributed, DistributedPlan& plan) {
    const std::string kind = distributed.text("kind").value_or("");
    const auto* const method = std::find_if(std::begin(kMethods), std::end(kMethods),
                                            [&kind](const Method& known) { return known.kind == kind; });
    if (method == std::end(kMethods)) {
        const std::string supported =
            fmt::format("supported: {}", fmt::join(kMethods | std::views::transform(&Method::kind), ", "));
        if (kind == "fsdp1" || kind == "fsdp2" || kind == "deepspeed" || kind == "tp")
            distributed.problems().unsupported(distributed.path("kind"), fmt::format("{} is not supported yet", kind),
                                               supported);
        else
            distributed.problems().invalid(
                distributed.path("kind"), kind.empty() ? "missing" : fmt::format("unknown kind '{}'", kind), supported);
        for (const std::string_view options : kAllOptions) (void)distributed.value(options);
        return;
    }
    for (const std::string_view options : kAllOptions)
        if (options != method->options) refuse_options(distributed, options, kind);
    auto options = distributed.object(method->options, Null::absent);
    if (!options && kind == "deepspeed")
        distributed.problems().invalid(distributed.path("deepspeed"), "DeepSpeed's configuration is missing",
                                       "the JSON that transformers takes as `deepspeed`");
    plan.method = method->read(std::move(options));
}

}  // namespace

DistributedPlan read_distributed(ObjectReader distributed) {
    DistributedPlan plan;
    ObjectReader::set(plan.world_size, distributed.integer("world_size", {.low = 2, .high = kMostRanks}));
    ObjectReader::set(plan.rank, distributed.integer("rank", {.low = 0, .high = kMostRanks - 1}));
    ObjectReader::set(plan.load_on_device, distributed.boolean("load_on_device"));
    if (plan.rank >= plan.world_size)
        distributed.problems().invalid(distributed.path("rank"),
                                       fmt::format("{} of {} ranks, which count from 0", plan.rank, plan.world_size),
                                       fmt::format("at most {}", plan.world_size - 1));
    read_method(distributed, plan);
    for (const char* of_the_tracer : {"events", "load_first"}) (void)distributed.value(of_the_tracer);
    distributed.refuse_unknown();
    return plan;
}

}  // namespace vramfit
