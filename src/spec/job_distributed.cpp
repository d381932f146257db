// Job files: several processes, the key `distributed`.
#include <fmt/format.h>

#include "spec/job_read.hpp"

namespace vramfit {

namespace {

// transformers 5.17.0, training_args.py: ddp_*.
DdpPlan read_ddp(ObjectReader arguments) {
    DdpPlan plan;
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

/// Options of other kinds may be there, as long as they are empty.
void refuse_options(ObjectReader& distributed, std::string_view key) {
    const JsonValue* options = distributed.value(key);
    const bool none = !options || options->kind == JsonValue::Kind::null ||
                      (options->kind == JsonValue::Kind::object && options->keys.empty());
    if (!none) distributed.problems().invalid(distributed.path(key), "does not belong to the kind ddp", "leave it out");
}

}  // namespace

DistributedPlan read_distributed(ObjectReader distributed) {
    DistributedPlan plan;
    const std::string kind = distributed.text("kind").value_or("");
    if (kind == "fsdp1" || kind == "fsdp2" || kind == "deepspeed" || kind == "tp")
        distributed.problems().unsupported(distributed.path("kind"), fmt::format("{} is not supported yet", kind),
                                           "supported: ddp");
    else if (kind != "ddp")
        distributed.problems().invalid(distributed.path("kind"),
                                       kind.empty() ? "missing" : fmt::format("unknown kind '{}'", kind), "ddp");
    ObjectReader::set(plan.world_size, distributed.integer("world_size", {.low = 2, .high = kMostRanks}));
    ObjectReader::set(plan.rank, distributed.integer("rank", {.low = 0, .high = kMostRanks - 1}));
    ObjectReader::set(plan.load_on_device, distributed.boolean("load_on_device"));
    if (plan.rank >= plan.world_size)
        distributed.problems().invalid(distributed.path("rank"),
                                       fmt::format("{} of {} ranks, which count from 0", plan.rank, plan.world_size),
                                       fmt::format("at most {}", plan.world_size - 1));
    if (auto ddp = distributed.object("ddp", Null::absent)) plan.ddp = read_ddp(std::move(*ddp));
    if (kind == "ddp")
        for (const char* other : {"fsdp_config", "deepspeed", "tp"}) refuse_options(distributed, other);
    for (const char* of_the_tracer : {"events", "load_first"}) (void)distributed.value(of_the_tracer);
    distributed.refuse_unknown();
    return plan;
}

}  // namespace vramfit
