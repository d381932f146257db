// accelerate 1.15.0, commands/config/cluster.py, commands/launch.py, parallelism_config.py.
#include "trainers/parallelism.hpp"

#include <fmt/format.h>

#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr std::string_view kContextSize = "parallelism_config.parallelism_config_cp_size";
constexpr std::string_view kContextStrategy = "parallelism_config.parallelism_config_cp_comm_strategy";
constexpr std::string_view kReplicas = "parallelism_config.parallelism_config_dp_replicate_size";
constexpr std::string_view kShardSize = "parallelism_config.parallelism_config_dp_shard_size";

constexpr const char* kElsewhere = "counts with sequence parallelism by DeepSpeed only";
constexpr KeyRow kParallelismRows[] = {
    {"use_parallelism_config", KeyUse::unsupported, "parallelism in a launch line is not read: accelerate's file is",
     "false"},
    {kContextSize, KeyUse::used, "distributed.cp_size", "2|4"},
    {kContextStrategy, KeyUse::used, "distributed.cp_comm_strategy", "allgather|alltoall"},
    {kShardSize, KeyUse::used, "distributed", ""},
    {kReplicas, KeyUse::used, "distributed.dp_replicate_size", "2|4"},
    {"parallelism_config.parallelism_config_tp_size", KeyUse::unsupported,
     "tensor parallelism under FSDP is not predicted", "1"},
    {"parallelism_config.parallelism_config_sp_size", KeyUse::unsupported,
     "sequence parallelism by DeepSpeed is not predicted", "1"},
    {"parallelism_config.parallelism_config_cp_backend", KeyUse::unsupported, "accelerate knows torch's only", "torch"},
    {"parallelism_config.parallelism_config_sp_backend", KeyUse::harmless, kElsewhere},
    {"parallelism_config.parallelism_config_sp_seq_length", KeyUse::harmless, kElsewhere},
    {"parallelism_config.parallelism_config_sp_seq_length_is_variable", KeyUse::harmless, kElsewhere},
    {"parallelism_config.parallelism_config_sp_attn_implementation", KeyUse::harmless, kElsewhere},
    {"parallelism_config.*", KeyUse::unsupported, "accelerate knows no such option of parallelism"},
};

}  // namespace

const std::span<const KeyRow> kParallelismOfAccelerate = kParallelismRows;

namespace {

/// What FSDP2 makes of the sizes; `key` is the one that asks.
void take_mesh(Reader& reader, Draft& draft, std::string_view key, const ContextPlan& context, std::int64_t shards,
               std::int64_t replicas) {
    Fsdp2Plan* const fsdp = draft.processes ? draft.processes->as<Fsdp2Plan>() : nullptr;
    if (!fsdp && context.size > 1)
        return reader.invalid(key, "accelerate stops: parallelism_config needs FSDP of version 2",
                              "distributed_type: FSDP with fsdp_version: 2");
    if (!fsdp)
        return reader.refuse(key, "a parallelism_config without FSDP of version 2 is not predicted",
                             "distributed_type: FSDP with fsdp_version: 2");
    fsdp->context = context;
    fsdp->replicas = replicas;
    draft.processes->any_rank = context.size > 1;
    draft.mesh_size = context.size * shards * replicas;
    draft.mesh_key = key;
    draft.mesh_place = reader.place(key);
}

}  // namespace

void read_parallelism_of_accelerate(Reader& reader, Draft& draft) {
    const bool given =
        reader.has(kContextSize) || reader.has(kShardSize) || reader.has(kContextStrategy) || reader.has(kReplicas);
    if (!given) return;
    ContextPlan context;
    context.size = reader.integer_or(kContextSize, 1, {.low = 1, .high = kMostRanks});
    context.gathers = choice<bool>(reader, kContextStrategy, kContextStrategyNames).value_or(true);
    const std::int64_t shards = reader.integer_or(kShardSize, 1, {.low = 1, .high = kMostRanks});
    const std::int64_t replicas = reader.integer_or(kReplicas, 1, {.low = 1, .high = kMostRanks});
    const std::string_view key = context.size > 1 ? kContextSize : replicas > 1 ? kReplicas : kShardSize;
    if (context.size == 1 && replicas == 1 && shards == 1)
        return reader.refuse(reader.has(kContextSize) ? kContextSize : key,
                             "a parallelism_config of one process is not predicted", "leave parallelism_config out");
    take_mesh(reader, draft, key, context, shards, replicas);
}

// axolotl 0.18 utils/trainer.py setup_parallelism_envs: sizes above 1 become accelerate's variables, of which those
// that are absent are 1. utils/distributed.py _get_parallel_config_kwargs.
void read_parallelism_of_axolotl(Reader& reader, Draft& draft) {
    const std::int64_t shards = reader.integer("dp_shard_size", {.low = 1, .high = kMostRanks}).value_or(1);
    const std::int64_t replicas = reader.integer("dp_replicate_size", {.low = 1, .high = kMostRanks}).value_or(1);
    if (shards == 1 && replicas == 1) return;
    const std::string_view key = shards > 1 ? "dp_shard_size" : "dp_replicate_size";
    if (!draft.processes || draft.processes->as<DdpPlan>()) {
        if (shards > 1)
            return reader.invalid(key,
                                  "axolotl stops: dp_shard_size was configured without a corresponding fsdp_config!",
                                  "fsdp_version: 2 and fsdp_config");
        return reader.refuse(key, "copies without shards are not predicted with parallelism_config", "leave it out");
    }
    if (shards == 1)
        return reader.refuse(key, "copies without dp_shard_size are not predicted", "dp_shard_size: 2 or more");
    take_mesh(reader, draft, key, {}, shards, replicas);
}

}  // namespace vramfit::trainers
