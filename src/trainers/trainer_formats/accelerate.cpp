// accelerate: the YAML of `accelerate config`, and the arguments of launchers.
#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/fsdp.hpp"
#include "trainers/parallelism.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kAccelerateKeys[] = {
    {"distributed_type", KeyUse::used, "distributed", "NO|FSDP"},
    {"num_processes", KeyUse::used, "gpus", "1|2"},
    {"nproc_per_node", KeyUse::used, "gpus", "1|2"},
    {"num_gpus", KeyUse::used, "gpus", "1|2"},
    {"NPROC_PER_NODE", KeyUse::used, "gpus", "1|2"},
    {"num_machines", KeyUse::used, "gpus", "1|2"},
    {"nnodes", KeyUse::used, "gpus", "1|2"},
    {"num_nodes", KeyUse::used, "gpus", "1|2"},
    {"NNODES", KeyUse::used, "gpus", "1|2"},
    {"CUDA_VISIBLE_DEVICES", KeyUse::used, "gpus", "1|2"},
    {"mixed_precision", KeyUse::used, "training.bf16", "bf16|no"},
    {"use_cpu", KeyUse::unsupported, "training on the CPU needs no GPU"},
    {"cpu", KeyUse::unsupported, "training on the CPU needs no GPU"},
    {"use_fsdp", KeyUse::used, "distributed", ""},
    {"fp8_config", KeyUse::unsupported, "fp8 is not predicted"},
    {"megatron_lm_config", KeyUse::unsupported, "Megatron is not predicted"},
    {"dynamo_config", KeyUse::unsupported, "compiled models are not predicted"},
    {"tpu_name", KeyUse::unsupported, "TPUs are not predicted"},
    {"tpu_use_cluster", KeyUse::unsupported, "TPUs are not predicted"},
};

constexpr std::string_view kAccelerateHarmless[] = {
    "compute_environment",
    "debug",
    "downcast_bf16",
    "enable_cpu_affinity",
    "gpu_ids",
    "machine_rank",
    "main_process_ip",
    "main_process_port",
    "main_training_function",
    "rdzv_backend",
    "same_network",
    "tpu_env",
    "tpu_use_sudo",
    "tpu_zone",
    "commands",
    "command_file",
    "multi_gpu",
    "node_rank",
    "master_addr",
    "master_port",
    "standalone",
    "rdzv_endpoint",
    "rdzv_id",
    "log_dir",
    "include",
    "num_cpu_threads_per_process",
    "dynamo_backend",
    "redirects",
    "tee",
    "max_restarts",
    "module",
    "hostfile",
    "mpirun_config",
    "tpu_vm",
    // of SageMaker
    "additional_args",
    "base_job_name",
    "ec2_instance_type",
    "iam_role_name",
    "image_uri",
    "profile",
    "py_version",
    "pytorch_version",
    "region",
    "sagemaker_inputs_file",
    "sagemaker_metrics_file",
    "transformers_version",
};

constexpr auto kAccelerateHarmlessRows = harmless_rows(kAccelerateHarmless);
const std::span<const KeyRow> kAccelerateTables[] = {kAccelerateKeys, kFsdpOfAccelerate, kParallelismOfAccelerate,
                                                     kZeroOfAccelerate, kAccelerateHarmlessRows};

bool is_accelerate(const Document& document) {
    return !document.launcher.empty() || document.root.find("distributed_type") ||
           (document.root.find("compute_environment") && document.root.find("num_processes"));
}

/// Launchers without a number start one process for each card that they see; torchrun starts one, and so does no
/// launcher at all: accelerate 1.15 commands/launch.py, LLaMA-Factory launcher.py.
void read_visible_cards(Reader& reader, Draft& draft) {
    const std::int64_t cards = reader.integer("CUDA_VISIBLE_DEVICES", {.high = 100'000}).value_or(0);
    const std::string& launcher = reader.document().launcher;
    const bool all = launcher == "accelerate launch" || launcher == "deepspeed" || draft.starts_processes;
    if (cards == 0 || launcher == "torchrun") return;
    if (cards > 1 && !all)
        return reader.refuse("CUDA_VISIBLE_DEVICES", "one process that sees several GPUs is not predicted",
                             "one GPU, or a launcher");
    draft.gpus = cards;
    draft.gpus_key = "CUDA_VISIBLE_DEVICES";
    draft.gpus_place = reader.place("CUDA_VISIBLE_DEVICES");
}

void read_accelerate_cards(Reader& reader, Draft& draft) {
    std::int64_t cards = 0;
    std::string key;
    for (const char* name : {"num_processes", "nproc_per_node", "num_gpus", "NPROC_PER_NODE"}) {
        const Value* value = reader.value(name);
        if (!value || value->kind == Value::Kind::text) continue;  // "gpu", "auto": all there are
        cards = reader.integer(name, {.low = 1, .high = 100'000}).value_or(1);
        key = name;
    }
    for (const char* name : {"num_machines", "nnodes", "num_nodes", "NNODES"}) {
        const Value* value = reader.value(name);
        if (!value || value->kind == Value::Kind::text) continue;
        const std::int64_t machines = reader.integer(name, {.low = 1, .high = 100'000}).value_or(1);
        const bool whole_run = std::string_view(name) == "num_machines";  // num_processes counts all machines
        if (machines > 1 && !whole_run) cards = std::max<std::int64_t>(cards, 1) * machines;
        if (machines > 1) key = name;
        draft.machines = machines;
        if (machines > 1 && whole_run && cards == 0) cards = machines;
    }
    if (cards == 0) return read_visible_cards(reader, draft);
    draft.gpus = cards;
    draft.gpus_key = key;
    draft.gpus_place = reader.place(key);
}

// accelerate 1.15, commands/config/config_args.py; a Trainer's own setting goes before mixed_precision.
void read_accelerate(Reader& reader, Draft& draft) {
    std::string type = reader.text("distributed_type").value_or("NO");
    if (reader.boolean("use_fsdp").value_or(false)) type = "FSDP";
    if (reader.boolean("use_deepspeed").value_or(false)) type = "DEEPSPEED";
    const std::string precision = reader.text("mixed_precision").value_or("no");
    const bool given = draft.processes && draft.processes->as<ZeroPlan>();
    if (type == "DEEPSPEED" && !given)
        read_zero_of_accelerate(reader, precision, draft);
    else if (type == "FSDP")
        read_fsdp_of_accelerate(reader, draft);
    else if (type != "NO" && type != "MULTI_GPU" && type != "no" && !given)
        reader.refuse("distributed_type", fmt::format("{} is not predicted yet", type), "NO is one GPU");
    read_accelerate_cards(reader, draft);
    read_parallelism_of_accelerate(reader, draft);
    TrainingPlan& training = draft.job.plan.training;
    if (precision == "fp8") reader.refuse("mixed_precision", "fp8 is not predicted", "bf16, fp16, no");
    const bool own = training.bf16 || training.fp16;
    if (!draft.training_read || own || type == "DEEPSPEED") return;
    if (precision == "bf16") training.bf16 = true;
    if (precision == "fp16") training.fp16 = true;
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat accelerate_entry;
const TrainerFormat accelerate_entry = {
    .name = "accelerate",
    .title = "accelerate 1.15",
    .summary = "YAML of accelerate config, beside a trainer's file",
    .order = 5,
    .part = TrainerPart::launch,
    .recognises = trainers::is_accelerate,
    .keys = trainers::kAccelerateTables,
    .releases = "accelerate up to 1.15",
    .read = trainers::read_accelerate,
};

}  // namespace vramfit::trainer_formats
