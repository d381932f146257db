// DeepSpeed: its JSON, beside a trainer's file.
#include "trainers/common.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kDeepSpeedKeys[] = {
    {"zero_optimization", KeyUse::used, "distributed.deepspeed", ""},
    {"fp16", KeyUse::used, "distributed.deepspeed", ""},
    {"bf16", KeyUse::used, "distributed.deepspeed", ""},
    {"optimizer", KeyUse::used, "distributed.deepspeed", ""},
    {"gradient_clipping", KeyUse::used, "distributed.deepspeed", ""},
    {"progressive_layer_drop.enabled", KeyUse::unsupported, "dropped layers are not predicted"},
    {"progressive_layer_drop.*", KeyUse::harmless},
    {"quantize_training.enabled", KeyUse::unsupported, "quantization-aware training is not predicted"},
    {"quantize_training.*", KeyUse::harmless},
    {"hybrid_engine.enabled", KeyUse::unsupported, "generation between steps is not predicted"},
    {"hybrid_engine.*", KeyUse::harmless},
    {"weight_quantization.enabled", KeyUse::unsupported, "quantized weights of DeepSpeed are not predicted"},
    {"weight_quantization.*", KeyUse::harmless},
    {"sparse_attention", KeyUse::unsupported, "sparse attention is not predicted"},
};

constexpr std::string_view kDeepSpeedHarmless[] = {
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "steps_per_print",
    "wall_clock_breakdown",
    "scheduler",
    "zero_allow_untested_optimizer",
    "bfloat16",
    "communication_data_type",
    "data_types",
    "activation_checkpointing",
    "flops_profiler",
    "autotuning",
    "aio",
    "zero_force_ds_cpu_optimizer",
    "tensor_parallel",
    "comms_logger",
    "dump_state",
    "prescale_gradients",
    "tensorboard",
    "wandb",
    "csv_monitor",
    "compression_training",
    "data_efficiency",
    "elasticity",
    "checkpoint",
    "gradient_predivide_factor",
    "amp",
    "curriculum_learning",
    "eigenvalue",
    "nebula",
    "compile",
    "timers",
    "memory_breakdown",
    "sparse_gradients",
    "fp32_allreduce",
    "disable_allgather",
    "dataloader_drop_last",
    "sequence_parallel_size",
    "use_data_before_expert_parallel_",
    "pipeline",
    "zenflow",
    "gradient_accumulation_dtype",
    "torch_autocast",
    "expert_parallel",
    "disable_python_gc",
    "gradient_allreduce_op",
    "log_level",
    "managed_gradient_accumulation",
    "use_data_before_expert_parallelism",
    "comms_config",
    "monitor_config",
    "mixed_precision",
    "keep_in_fp32_modules",
    "comet",
    "seed",
    "cuda_visible_devices",
    "_comment",
};

constexpr auto kDeepSpeedHarmlessRows = harmless_rows(kDeepSpeedHarmless);
constexpr std::span<const KeyRow> kDeepSpeedTables[] = {kDeepSpeedKeys, kDeepSpeedHarmlessRows};

bool is_deepspeed(const Document& document) {
    const Value& root = document.root;
    return document.syntax == Syntax::json && document.launcher.empty() &&
           (root.find("zero_optimization") || root.find("train_micro_batch_size_per_gpu") ||
            root.find("train_batch_size") || (root.find("fp16") && root.find("optimizer")));
}

void read_deepspeed_json(Reader& reader, Draft& draft) {
    if (!draft.training_read) {
        for (const char* key : {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu", "optimizer"})
            if (reader.has(key))
                return reader.refuse(key, "this file says how DeepSpeed is set up, not what is trained",
                                     "give the trainer's file before it");
        return;
    }
    read_zero(reader, draft);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat deepspeed_entry;
const TrainerFormat deepspeed_entry = {
    .name = "deepspeed",
    .title = "DeepSpeed 0.19",
    .summary = "DeepSpeed's JSON: ZeRO-1, 2 and 3",
    .order = 4,
    .part = TrainerPart::engine,
    .recognises = trainers::is_deepspeed,
    .keys = trainers::kDeepSpeedTables,
    .releases = "DeepSpeed up to 0.19",
    .read = trainers::read_deepspeed_json,
};

}  // namespace vramfit::trainer_formats
