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
    if (context.size == 1 && replicas == 1)
        return reader.refuse(reader.has(kContextSize) ? kContextSize : key,
                             "a parallelism_config that cuts no sequences and copies no shards is not predicted",
                             "leave parallelism_config out");
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
    const std::int64_t total = context.size * shards * replicas;
    if (draft.gpus && *draft.gpus != total)
        reader.invalid(
            key, fmt::format("accelerate stops: total_size ({}) does not match num_processes ({})", total, *draft.gpus),
            fmt::format("parallelism_config_dp_shard_size: {}", *draft.gpus / (context.size * replicas)));
}

}  // namespace vramfit::trainers
