// Flags of a plan: how several GPUs share it.
#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "cli/input.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/deepspeed.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kSeveral = "Several GPUs";

void choose_processes(Job& job, std::string_view value, const std::string& where) {
    const std::int64_t count = integer_from(value, where);
    if (count > kMostRanks)
        throw Error(ErrorKind::invalid, where, fmt::format("{} processes are more than {}", count, kMostRanks),
                    "give fewer");
    if (count == 1 && job.plan.distributed && job.plan.distributed->world_size == 1) return;  // DeepSpeed on one card
    if (count == 1)
        job.plan.distributed.reset();
    else if (job.plan.distributed)
        job.plan.distributed->world_size = count;
    else
        job.plan.distributed.emplace().world_size = count;
}

DistributedPlan& processes_of(Job& job, const std::string& where) {
    if (!job.plan.distributed) throw Error(ErrorKind::invalid, where, "there is one process", "give --gpus as well");
    return *job.plan.distributed;
}

DdpPlan& ddp_of(Job& job, const std::string& where) {
    if (DdpPlan* ddp = processes_of(job, where).as<DdpPlan>()) return *ddp;
    throw Error(ErrorKind::invalid, where, "the processes do not use DistributedDataParallel", "leave it out");
}

ZeroPlan zero_from(std::string_view value, const std::string& where) {
    return read_deepspeed_file(read_input(std::string(value), where), name_of_input(std::string(value)));
}

/// The stage of the configuration that is there, or one of its own.
void choose_zero_stage(Job& job, std::string_view value, const std::string& where) {
    const std::int64_t stage = integer_from(value, where);
    if (stage > 3) throw Error(ErrorKind::invalid, where, "ZeRO has the stages 1, 2 and 3", "one of them");
    DistributedPlan& processes = processes_of(job, where);
    if (ZeroPlan* zero = processes.as<ZeroPlan>())
        zero->stage = stage;
    else
        processes.method = zero_plan_of(stage);
}

/// The methods that flags choose exclude each other.
void refuse_beside(const DistributedPlan& processes, std::string_view method, const std::string& where) {
    const DdpPlan* const ddp = processes.as<DdpPlan>();
    if (!ddp)
        throw Error(ErrorKind::invalid, where, fmt::format("the processes use {}", name_of(processes.method).title),
                    "choose one of the two");
    if (!(*ddp == DdpPlan{}))
        throw Error(ErrorKind::invalid, where,
                    fmt::format("{} has none of DistributedDataParallel's arguments", method), "leave one of them out");
}

/// `--gpus N` may say it as well.
void choose_tensor_parallelism(Job& job, std::string_view value, const std::string& where) {
    const std::int64_t count = integer_from(value, where);
    if (count < 2)
        throw Error(ErrorKind::invalid, where, "a layer is cut over two processes or more",
                    "2 or more, or leave it out");
    if (!job.plan.distributed) choose_processes(job, value, where);
    DistributedPlan& processes = *job.plan.distributed;
    if (processes.world_size != count)
        throw Error(ErrorKind::invalid, where,
                    fmt::format("{} processes, and layers cut over {} of them: transformers asks for all",
                                processes.world_size, count),
                    fmt::format("--gpus {0} --tp {0}, or --tp alone", count));
    if (processes.as<TpPlan>()) return;
    refuse_beside(processes, "tensor parallelism", where);
    processes.method = TpPlan{};
}

/// `--gpus N` may say it as well. The loop is a plain one: no trainer runs a pipeline.
void choose_pipeline(Job& job, std::string_view value, const std::string& where) {
    const std::int64_t count = integer_from(value, where);
    if (count < 2)
        throw Error(ErrorKind::invalid, where, "a pipeline has two stages or more", "2 or more, or leave it out");
    if (!job.plan.distributed) choose_processes(job, value, where);
    DistributedPlan& processes = *job.plan.distributed;
    if (processes.world_size != count)
        throw Error(ErrorKind::invalid, where,
                    fmt::format("{} processes, and {} stages: each process has one", processes.world_size, count),
                    fmt::format("--gpus {0} --pp {0}, or --pp alone", count));
    if (processes.as<PipelinePlan>()) return;
    refuse_beside(processes, "pipeline parallelism", where);
    processes.method = PipelinePlan{.micro_batches = count};
    processes.any_rank = true;
    if (job.plan.loop.kind == LoopKind::trainer) job.plan.loop.kind = LoopKind::plain;
}

PipelinePlan& pipeline_of(Job& job, const std::string& where) {
    PipelinePlan* const pipeline = job.plan.distributed ? job.plan.distributed->as<PipelinePlan>() : nullptr;
    if (pipeline) return *pipeline;
    throw Error(ErrorKind::invalid, where, "there is no pipeline", "give --pp as well");
}

void choose_process(Job& job, std::string_view value, const std::string& where) {
    DistributedPlan& processes = processes_of(job, where);
    processes.rank = integer_from(value, where, 0);
    processes.any_rank = false;
    processes.rank_is_asked = processes.loads_as_last();
}

std::int64_t count_from(std::string_view value, const std::string& where, std::int64_t most) {
    const std::int64_t count = integer_from(value, where);
    if (count < 1 || count > most)
        throw Error(ErrorKind::invalid, where, fmt::format("{} is not possible", count), fmt::format("1 to {}", most));
    return count;
}

void choose_fsdp(Job& job, std::string_view value, const std::string& where) {
    DistributedPlan& processes = processes_of(job, where);
    if (value != "1" && value != "2")
        throw Error(ErrorKind::invalid, where, fmt::format("there is no version '{}'", value), "1 or 2");
    if (!processes.as<Fsdp1Plan>() && !processes.as<Fsdp2Plan>()) refuse_beside(processes, "FSDP", where);
    if (value == "1" && !processes.as<Fsdp1Plan>()) processes.method = Fsdp1Plan{};
    if (value == "2" && !processes.as<Fsdp2Plan>()) processes.method = Fsdp2Plan{};
}

/// `--fsdp 2` and, without `--gpus`, as many processes follow from it.
void choose_context_parallelism(Job& job, std::string_view value, const std::string& where) {
    const std::int64_t count = integer_from(value, where);
    if (count < 2)
        throw Error(ErrorKind::invalid, where, "a sequence is cut over two processes or more",
                    "2 or more, or leave it out");
    if (!job.plan.distributed) choose_processes(job, value, where);
    DistributedPlan& processes = *job.plan.distributed;
    if (processes.as<Fsdp1Plan>())
        throw Error(ErrorKind::invalid, where, "accelerate stops: context parallelism requires FSDP2", "--fsdp 2");
    if (!processes.as<Fsdp2Plan>()) {
        refuse_beside(processes, "context parallelism", where);
        processes.method = Fsdp2Plan{};
    }
    processes.as<Fsdp2Plan>()->context.size = count;
    processes.any_rank = true;
}

void choose_context_strategy(Job& job, std::string_view value, const std::string& where) {
    Fsdp2Plan* const fsdp = processes_of(job, where).as<Fsdp2Plan>();
    if (!fsdp || fsdp->context.size == 1)
        throw Error(ErrorKind::invalid, where, "sequences are not cut", "give --cp as well");
    if (value != "allgather" && value != "alltoall")
        throw Error(ErrorKind::invalid, where, fmt::format("unknown value '{}'", value), "allgather or alltoall");
    fsdp->context.gathers = value == "allgather";
}

Fsdp1Plan& fsdp1_of(Job& job, const std::string& where) {
    if (Fsdp1Plan* fsdp = processes_of(job, where).as<Fsdp1Plan>()) return *fsdp;
    throw Error(ErrorKind::invalid, where, "the processes do not use FSDP1", "give --fsdp 1 as well");
}

Fsdp2Plan& fsdp2_of(Job& job, const std::string& where) {
    if (Fsdp2Plan* fsdp = processes_of(job, where).as<Fsdp2Plan>()) return *fsdp;
    throw Error(ErrorKind::invalid, where, "the processes do not use FSDP2", "give --fsdp 2 as well");
}

/// `--fsdp 2` follows from it.
void choose_replicas(Job& job, std::string_view value, const std::string& where) {
    const std::int64_t count = integer_from(value, where);
    if (count < 1) throw Error(ErrorKind::invalid, where, "there is at least one group", "1 or more, or leave it out");
    DistributedPlan& processes = processes_of(job, where);
    if (processes.as<Fsdp1Plan>())
        throw Error(ErrorKind::invalid, where, "accelerate stops: a parallelism_config needs FSDP2",
                    "--fsdp 2, or --fsdp-sharding-strategy hybrid_shard with --gpus-per-node");
    if (!processes.as<Fsdp2Plan>()) {
        refuse_beside(processes, "HSDP", where);
        processes.method = Fsdp2Plan{};
    }
    processes.as<Fsdp2Plan>()->replicas = count;
}

/// Calls `set` with FSDP's plan of either version.
template <class Set>
void set_fsdp(DistributedPlan& processes, const std::string& where, const Set& set,
              const char* hint = "give --fsdp 2 as well") {
    if (Fsdp1Plan* fsdp1 = processes.as<Fsdp1Plan>())
        set(*fsdp1);
    else if (Fsdp2Plan* fsdp2 = processes.as<Fsdp2Plan>())
        set(*fsdp2);
    else
        throw Error(ErrorKind::invalid, where, "the processes do not use FSDP", hint);
}

void choose_fsdp_offload(Job& job, std::string_view value, const std::string& where) {
    DistributedPlan& processes = processes_of(job, where);
    const bool on = boolean_from(value, where);
    set_fsdp(processes, where, [&](auto& fsdp) { fsdp.cpu_offload = on; });
}

/// accelerate 1.15.0, commands/launch.py --fsdp_min_num_params.
constexpr std::int64_t kLeastSize = 100'000'000;

void choose_fsdp_wrapping(Job& job, std::string_view value, const std::string& where) {
    DistributedPlan& processes = processes_of(job, where);
    const WrapPolicy policy = value_from(value, where, kWrapPolicyNames);
    set_fsdp(processes, where, [&](auto& fsdp) {
        fsdp.wrap_policy = policy;
        if (policy == WrapPolicy::size_based && fsdp.min_num_params == 0) fsdp.min_num_params = kLeastSize;
    });
}

void choose_layer_classes(Job& job, std::string_view value, const std::string& where) {
    DistributedPlan& processes = processes_of(job, where);
    const std::vector<std::string> classes = words_from(value, where);
    set_fsdp(processes, where, [&](auto& fsdp) { fsdp.layer_classes = classes; });
    const std::string own = decoder_layer_class(job.model);
    for (const std::string& name : classes)
        if (!own.empty() && name != own)
            throw Error(ErrorKind::unsupported, where, fmt::format("units of {} are not supported", name),
                        fmt::format("{}, the model's decoder layer, or leave it out", own));
}

void choose_least_size(Job& job, std::string_view value, const std::string& where) {
    DistributedPlan& processes = processes_of(job, where);
    const std::int64_t least = integer_from(value, where);
    const auto set = [&](auto& fsdp) {
        if (fsdp.wrap_policy != WrapPolicy::size_based)
            throw Error(ErrorKind::invalid, where, "units are not chosen by their size",
                        "give --fsdp-auto-wrap-policy size_based_wrap as well");
        fsdp.min_num_params = least;
    };
    set_fsdp(processes, where, set, "give --fsdp 1 as well");
}

/// A yes or no of the method that `Of` gives.
template <auto Of, auto Member>
void choose(Job& job, std::string_view value, const std::string& where) {
    Of(job, where).*Member = boolean_from(value, where);
}

constexpr PlanFlag kSeveralFlags[] = {
    {"gpus", "world_size num_processes nproc_per_node", "N", nullptr, kSeveral,
     "Number of processes, each with its own GPU: DistributedDataParallel unless a flag below chooses another method; "
     "the answer is about one of them [1]",
     choose_processes, 0},
    {"gpus-per-node", "local_world_size", "N", nullptr, kSeveral,
     "Processes in each node, over which FSDP1's hybrid strategies shard, with --fsdp-sharding-strategy [all]",
     [](Job& job, std::string_view value, const std::string& where) {
         processes_of(job, where).local_world_size = count_from(value, where, kMostRanks);
     },
     3},
    {"tp", "tp_size tensor_parallel_size", "N", nullptr, kSeveral,
     "Tensor parallelism over N processes: transformers' tp_plan \"auto\"; all of them see the same batches [off]",
     choose_tensor_parallelism, 2},
    {"pp", "pp_size pipeline_parallel_size", "N", nullptr, kSeveral,
     "Pipeline parallelism over N processes: torch.distributed.pipelining in a plain loop; the answer is about the "
     "stage that needs the most [off]",
     choose_pipeline, 2},
    {"pp-schedule", "", "NAME", nullptr, kSeveral,
     "Pipeline schedule, with --pp: 1f1b, gpipe or interleaved_1f1b [1f1b]",
     [](Job& job, std::string_view value, const std::string& where) {
         pipeline_of(job, where).schedule = value_from(value, where, kPipelineNames);
     },
     3, words_of<kPipelineNames>},
    {"micro-batches", "n_microbatches", "M", nullptr, kSeveral,
     "Microbatches of --batch sequences in each step, with --pp [one for each process]",
     [](Job& job, std::string_view value, const std::string& where) {
         pipeline_of(job, where).micro_batches = count_from(value, where, kMostBatches);
     },
     3},
    {"pp-virtual-stages", "", "V", nullptr, kSeveral, "Stages in each process, with --pp-schedule interleaved_1f1b [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         pipeline_of(job, where).virtual_stages = count_from(value, where, kMostRanks);
     },
     3},
    {"pp-return-outputs", "", "BOOL", nullptr, kSeveral,
     "The last stage keeps the logits of all microbatches, schedule.step(return_outputs=...), with --pp [true]",
     choose<pipeline_of, &PipelinePlan::return_outputs>, 3},
    {"cp", "cp_size context_parallel_size parallelism_config_cp_size", "N", nullptr, kSeveral,
     "Context parallelism over N processes, which share each sequence, as accelerate has it; implies --fsdp 2; the "
     "answer is about the process that needs the most [off]",
     choose_context_parallelism, 3},
    {"cp-comm-strategy", "cp_comm_strategy parallelism_config_cp_comm_strategy", "HOW", nullptr, kSeveral,
     "How keys and values reach the other processes, with --cp: allgather or alltoall [allgather]",
     choose_context_strategy, 4, words_of<kContextStrategyNames>},
    {"fsdp", "fsdp_version", "1|2", nullptr, kSeveral,
     "Fully Sharded Data Parallel, version 1 or 2, as accelerate sets it up: weights, gradients and optimizer states "
     "are sharded; with --gpus [off]",
     choose_fsdp, 2,
     [] {
         return Words{"1", "2"};
     }},
    {"fsdp-backward-prefetch", "backward_prefetch", "WHEN", nullptr, kSeveral,
     "backward_pre gathers the next layer's weights before the current layer's gradients are computed, backward_post "
     "after that, with --fsdp 1 [no_prefetch]",
     [](Job& job, std::string_view value, const std::string& where) {
         fsdp1_of(job, where).backward_prefetch = value_from(value, where, kBackwardPrefetchNames);
     },
     3, words_of<kBackwardPrefetchNames>},
    {"fsdp-forward-prefetch", "forward_prefetch", "BOOL", nullptr, kSeveral,
     "Gather the next layer's weights while the current layer runs, from the second step on, with --fsdp 1 [false]",
     choose<fsdp1_of, &Fsdp1Plan::forward_prefetch>, 3},
    {"fsdp-limit-all-gathers", "limit_all_gathers", "BOOL", nullptr, kSeveral,
     "Let the CPU wait rather than have a third layer gathered ahead, with --fsdp 1 [true]",
     choose<fsdp1_of, &Fsdp1Plan::limit_all_gathers>, 3},
    {"fsdp-sharding-strategy", "sharding_strategy", "WHAT", nullptr, kSeveral,
     "full_shard; shard_grad_op: a layer's gathered weights stay until its backward; hybrid_shard and "
     "hybrid_shard_zero2: the same within a node; no_shard; with --fsdp 1 [full_shard]",
     [](Job& job, std::string_view value, const std::string& where) {
         fsdp1_of(job, where).sharding_strategy = value_from(value, where, kFsdpStrategyNames);
     },
     3, words_of<kFsdpStrategyNames>},
    {"fsdp-use-orig-params", "use_orig_params", "BOOL", nullptr, kSeveral,
     "The optimizer sees the model's own parameters; false: one flat parameter for each layer, with --fsdp 1 [true]",
     choose<fsdp1_of, &Fsdp1Plan::use_orig_params>, 3},
    {"dp-replicate", "dp_replicate_size parallelism_config_dp_replicate_size", "N", nullptr, kSeveral,
     "Number of replicas, each sharded over its own group of processes (HSDP): accelerate's dp_replicate_size; "
     "implies --fsdp 2 [1]",
     choose_replicas, 3},
    {"fsdp-reshard-after-forward", "reshard_after_forward", "BOOL", nullptr, kSeveral,
     "Free a layer's gathered weights after its forward, with --fsdp 2 [true]",
     choose<fsdp2_of, &Fsdp2Plan::reshard_after_forward>, 3},
    {"fsdp-cpu-offload", "fsdp_offload_params offload_params", "BOOL", nullptr, kSeveral,
     "Keep the weights, gradients and optimizer states of each process in host memory, with --fsdp [false]",
     choose_fsdp_offload, 3},
    {"fsdp-auto-wrap-policy", "auto_wrap_policy", "WHAT", nullptr, kSeveral,
     "What is an FSDP unit, with --fsdp: transformer_based_wrap: each decoder layer; size_based_wrap: each module with "
     "many parameters; no_wrap: only the whole model, accelerate's own default [transformer_based_wrap]",
     choose_fsdp_wrapping, 3, words_of<kWrapPolicyNames>},
    {"fsdp-transformer-layer-cls-to-wrap", "transformer_layer_cls_to_wrap", "CLASS", nullptr, kSeveral,
     "Class of the decoder layers, with --fsdp: for models with towers for images, whose other layers stay out of "
     "units then [all that the model names]",
     choose_layer_classes, 3},
    {"fsdp-min-num-params", "min_num_params", "N", nullptr, kSeveral,
     "Parameters that a module needs to be a unit, with --fsdp-auto-wrap-policy size_based_wrap [100000000]",
     choose_least_size, 4},
    {"fsdp-cpu-ram-efficient-loading", "cpu_ram_efficient_loading", "BOOL", nullptr, kSeveral,
     "Only the first process reads the weights and sends them to the others, with --fsdp 2 [false]",
     choose<fsdp2_of, &Fsdp2Plan::cpu_ram_efficient_loading>, 3},
    {"process", "", "K", nullptr, kSeveral,
     "The process that the answer is about, counted from 0, with --gpus; the first has the largest shards [0; with "
     "--pp the stage that needs the most]",
     choose_process, 4},
    {"ddp-find-unused-parameters", "", "BOOL", nullptr, kSeveral,
     "Trainer's argument, with --gpus [true with adapters or without checkpointing]",
     choose<ddp_of, &DdpPlan::find_unused_parameters>},
    {"ddp-bucket-cap-mb", "", "N", nullptr, kSeveral,
     "Trainer's argument, with --gpus [1 for the first bucket, 25 for the others]",
     [](Job& job, std::string_view value, const std::string& where) {
         ddp_of(job, where).bucket_cap_mb = integer_from(value, where);
     }},
    {"ddp-static-graph", "", "BOOL", nullptr, kSeveral, "Trainer's argument, with --gpus [false]",
     choose<ddp_of, &DdpPlan::static_graph>},
    {"deepspeed", "deepspeed_config_file", "FILE", nullptr, kSeveral,
     "DeepSpeed config as Trainer takes it: ZeRO instead of DDP; with --gpus [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         processes_of(job, where).method = zero_from(value, where);
     },
     0},
    {"zero-stage", "zero_stage", "N", nullptr, kSeveral,
     "DeepSpeed ZeRO stage 1, 2 or 3; without --deepspeed: its AdamW and \"auto\" sizes; with --gpus [none]",
     choose_zero_stage, 0,
     [] {
         return Words{"1", "2", "3"};
     }},
};

}  // namespace

std::span<const PlanFlag> several_gpus_flags() { return kSeveralFlags; }

}  // namespace vramfit::cli
