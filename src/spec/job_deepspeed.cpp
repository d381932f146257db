// DeepSpeed's configuration as transformers.TrainingArguments(deepspeed=...) takes it.
#include <fmt/format.h>

#include <cmath>

#include "spec/job_deepspeed.hpp"
#include "spec/json_parse.hpp"
#include "vramfit/spec/deepspeed.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

constexpr double kMostElements = 1e15;

bool is_auto(const JsonValue* value) { return value && value->kind == JsonValue::Kind::text && value->text == "auto"; }

/// A count that may be written as 5e8; nothing if the key is absent or "auto".
std::optional<std::int64_t> whole_number(ObjectReader& reader, std::string_view key) {
    const JsonValue* value = reader.value(key);
    if (!value || is_auto(value)) return std::nullopt;
    const bool number = value->kind == JsonValue::Kind::integer || value->kind == JsonValue::Kind::real;
    if (number && value->real >= 0 && value->real <= kMostElements && std::floor(value->real) == value->real)
        return static_cast<std::int64_t>(value->real);
    reader.problems().invalid(reader.path(key), fmt::format("{} is no count of elements", value->shown()),
                              "a whole number, or \"auto\"");
    return std::nullopt;
}

void read_size(ObjectReader& reader, std::string_view key, ZeroSize& size) {
    const bool given = reader.value(key) != nullptr;
    if (given) size = whole_number(reader, key);
}

std::optional<bool> flag_or_auto(ObjectReader& reader, std::string_view key, std::optional<bool> absent) {
    const JsonValue* value = reader.value(key);
    if (!value) return absent;
    return is_auto(value) ? std::nullopt : reader.boolean(key);
}

/// A key that changes what is allocated in a way that is not known here: only its default passes.
void only_default(ObjectReader& reader, std::string_view key, bool normal) {
    const JsonValue* value = reader.value(key);
    if (!value || value->kind == JsonValue::Kind::null) return;
    const bool same = value->kind == JsonValue::Kind::boolean && value->boolean == normal;
    if (!same)
        reader.problems().unsupported(reader.path(key), fmt::format("{} is not supported", value->shown()),
                                      "leave it out");
}

void not_supported(ObjectReader& reader, std::initializer_list<const char*> keys) {
    for (const char* key : keys)
        if (reader.value(key)) reader.problems().unsupported(reader.path(key), "is not supported", "leave it out");
}

void no_effect(ObjectReader& reader, std::initializer_list<const char*> keys) {
    for (const char* key : keys) (void)reader.value(key);
}

/// runtime/zero/offload_config.py; whether it is offloaded.
bool read_offload(ObjectReader offload) {
    const std::string device = offload.text("device").value_or("none");
    if (device != "none" && device != "cpu")
        offload.problems().unsupported(offload.path("device"), fmt::format("'{}' is not supported", device),
                                       "cpu or none");
    if (const auto ratio = offload.real("ratio", {.low = 0, .high = 1}); ratio && *ratio != 1)
        offload.problems().unsupported(offload.path("ratio"), "a part of the optimizer on the GPU is not supported",
                                       "leave it out");
    no_effect(offload, {"pin_memory", "buffer_count", "buffer_size", "max_in_cpu", "fast_init", "pipeline",
                        "pipeline_read", "pipeline_write", "nvme_path", "cpuadam_cores_perc"});
    offload.refuse_unknown();
    return device == "cpu";
}

/// Names as in the classes' fields, beside the aliases that begin with "stage3_" (populate_by_name): Trainer fills in
/// "auto" under the aliases alone, and DeepSpeed drops it elsewhere.
void read_own_names(ObjectReader& zero, ZeroPlan& plan) {
    const auto read = [&](const char* key, const char* alias, auto& into) {
        const auto given = whole_number(zero, key);
        if (given && !zero.has(alias)) into = *given;
    };
    read("prefetch_bucket_size", "stage3_prefetch_bucket_size", plan.prefetch_bucket_size);
    read("param_persistence_threshold", "stage3_param_persistence_threshold", plan.param_persistence_threshold);
    read("max_live_parameters", "stage3_max_live_parameters", plan.max_live_parameters);
    read("max_reuse_distance", "stage3_max_reuse_distance", plan.max_reuse_distance);
    no_effect(zero, {"gather_16bit_weights_on_model_save"});
}

void read_zero(ObjectReader zero, ZeroPlan& plan) {
    ObjectReader::set(plan.stage, zero.integer("stage", {.low = 0, .high = 3}));
    if (plan.stage == 0 || !zero.has("stage"))
        zero.problems().unsupported(zero.path("stage"), "DeepSpeed without ZeRO is not supported", "1, 2 or 3");
    read_size(zero, "reduce_bucket_size", plan.reduce_bucket_size);
    read_size(zero, "stage3_prefetch_bucket_size", plan.prefetch_bucket_size);
    read_size(zero, "stage3_param_persistence_threshold", plan.param_persistence_threshold);
    ObjectReader::set(plan.max_live_parameters, whole_number(zero, "stage3_max_live_parameters"));
    ObjectReader::set(plan.max_reuse_distance, whole_number(zero, "stage3_max_reuse_distance"));
    read_own_names(zero, plan);
    ObjectReader::set(plan.sub_group_size, whole_number(zero, "sub_group_size"));
    plan.overlap_comm = zero.boolean("overlap_comm", Null::absent);
    ObjectReader::set(plan.contiguous_gradients, zero.boolean("contiguous_gradients"));
    ObjectReader::set(plan.reduce_scatter, zero.boolean("reduce_scatter"));
    if (auto offload = zero.object("offload_optimizer", Null::absent))
        plan.offload_optimizer = read_offload(std::move(*offload));
    if (auto offload = zero.object("offload_param", Null::absent))
        plan.offload_param = read_offload(std::move(*offload));
    if (plan.offload_param && plan.stage < 3)
        zero.problems().invalid(zero.path("offload_param"), "DeepSpeed offloads parameters with stage 3 only",
                                "leave it out, or take stage 3");
    only_default(zero, "round_robin_gradients", false);
    only_default(zero, "use_multi_rank_bucket_allreduce", true);
    only_default(zero, "memory_efficient_linear", true);
    only_default(zero, "compute_grad_norm", true);
    only_default(zero, "override_module_apply", true);
    for (const char* key : {"use_all_reduce_for_fetch_params", "stage3_use_all_reduce_for_fetch_params"})
        only_default(zero, key, false);
    not_supported(zero, {"zero_hpz_partition_size", "zero_quantized_weights", "zero_quantized_nontrainable_weights",
                         "zero_quantized_gradients", "mics_shard_size", "mics_hierarchical_params_gather", "zenflow",
                         "super_offload", "module_granularity_threshold", "stage3_module_granularity_threshold",
                         "leaf_module", "parameter_alignment", "cpu_offload", "cpu_offload_param", "cpu_offload_params",
                         "stage3_model_persistence_threshold", "model_persistence_threshold",
                         "stage3_allgather_sequential", "allgather_sequential"});
    no_effect(zero,
              {"allgather_partitions", "allgather_bucket_size", "load_from_fp32_weights", "elastic_checkpoint",
               "stage3_gather_16bit_weights_on_model_save", "stage3_gather_fp16_weights_on_model_save",
               "ignore_unused_parameters", "legacy_stage1", "cpu_offload_use_pin_memory", "pipeline_loading_checkpoint",
               "save_muon_momentum_buffer_in_memory", "log_trace_cache_warnings", "enable_sanity_checks"});
    zero.refuse_unknown();
}

/// runtime/engine.py _configure_basic_optimizer: names are compared in lower case, those that are not DeepSpeed's are
/// torch's. _do_optimizer_sanity_check, runtime/zero/utils.py ZERO_SUPPORTED_OPTIMIZERS: these want a key.
void check_other_optimizer(ObjectReader& optimizer, const std::string& type, bool allows_untested) {
    const std::string name = lower_case(type);
    if (name.starts_with("onebit") || name.starts_with("zeroone"))
        optimizer.problems().invalid(optimizer.path("type"),
                                     fmt::format("DeepSpeed stops: {} is not a supported DeepSpeed Optimizer", type),
                                     "AdamW or Lion");
    else if (!allows_untested && (name == "sgd" || name == "lamb" || name == "rmsprop"))
        optimizer.problems().invalid(optimizer.path("type"),
                                     fmt::format("{}: DeepSpeed stops: You are using an untested ZeRO Optimizer", type),
                                     "AdamW or Lion");
    else
        optimizer.problems().unsupported(optimizer.path("type"), fmt::format("'{}' is not supported", type),
                                         "AdamW, Adam or Lion, or no section `optimizer`: then Trainer's is taken");
}

/// ops/adam, ops/lion: FusedAdam, FusedLion, DeepSpeedCPUAdam, DeepSpeedCPULion; states are the same for Adam and
/// AdamW.
void read_optimizer(ObjectReader optimizer, bool allows_untested, ZeroPlan& plan) {
    plan.own_optimizer = true;
    const std::string type = optimizer.text("type").value_or("");
    const std::string name = lower_case(type);
    const bool adam = name == "adamw" || name == "adam";
    if (!adam && name != "lion") check_other_optimizer(optimizer, type, allows_untested);
    if (name == "lion") plan.optimizer = ZeroOptimizer::lion;
    auto params = optimizer.object("params", Null::absent);
    if (params && (adam || name == "lion")) {
        if (adam && params->boolean("torch_adam").value_or(false)) plan.optimizer = ZeroOptimizer::torch_adamw;
        if (adam) only_default(*params, "fp32_optimizer_states", true);
        no_effect(*params, {"lr", "betas", "weight_decay"});
        if (adam) no_effect(*params, {"eps", "bias_correction", "adam_w_mode"});
        params->refuse_unknown();
    }
    optimizer.refuse_unknown();
}

void read_precision(ObjectReader& config, ZeroPlan& plan) {
    plan.bf16 = false;
    for (const char* key : {"bf16", "bfloat16"}) {
        auto bf16 = config.object(key, Null::absent);
        if (!bf16) continue;
        plan.bf16 = flag_or_auto(*bf16, "enabled", false);
        only_default(*bf16, "bf16_master_weights_and_grads", false);
        only_default(*bf16, "bf16_optimizer_states", false);
        only_default(*bf16, "immediate_grad_update", true);
        only_default(*bf16, "check_grad_overflow", true);
        no_effect(*bf16, {"loss_scale", "loss_scale_window", "initial_scale_power", "hysteresis", "min_loss_scale",
                          "auto_cast"});
        bf16->refuse_unknown();
    }
    auto fp16 = config.object("fp16", Null::absent);
    if (!fp16) return;
    plan.fp16 = flag_or_auto(*fp16, "enabled", false);
    only_default(*fp16, "fp16_master_weights_and_grads", false);
    only_default(*fp16, "auto_cast", false);
    no_effect(*fp16, {"loss_scale", "loss_scale_window", "initial_scale_power", "hysteresis", "consecutive_hysteresis",
                      "min_loss_scale"});
    fp16->refuse_unknown();
}

}  // namespace

ZeroPlan read_deepspeed(ObjectReader config) {
    ZeroPlan plan;
    if (auto zero = config.object("zero_optimization"))
        read_zero(std::move(*zero), plan);
    else
        config.problems().unsupported(config.path("zero_optimization"), "DeepSpeed without ZeRO is not supported",
                                      "give it a stage");
    const bool allows_untested = config.boolean("zero_allow_untested_optimizer").value_or(false);
    if (auto optimizer = config.object("optimizer", Null::absent))
        read_optimizer(std::move(*optimizer), allows_untested, plan);
    ObjectReader::set(plan.force_ds_cpu_optimizer, config.boolean("zero_force_ds_cpu_optimizer"));
    read_precision(config, plan);
    if (is_auto(config.value("gradient_clipping")))
        plan.gradient_clipping.reset();
    else
        plan.gradient_clipping = config.real("gradient_clipping").value_or(1);
    plan.clips_by_default = !config.has("gradient_clipping");
    plan.micro_batch_size = whole_number(config, "train_micro_batch_size_per_gpu");
    plan.gradient_accumulation_steps = whole_number(config, "gradient_accumulation_steps");
    plan.train_batch_size = whole_number(config, "train_batch_size");
    not_supported(config, {"communication_data_type",
                           "data_types",
                           "amp",
                           "torch_autocast",
                           "sparse_gradients",
                           "compression_training",
                           "data_efficiency",
                           "curriculum_learning",
                           "autotuning",
                           "compile",
                           "tensor_parallel",
                           "expert_parallel",
                           "sequence_parallel_size",
                           "flops_profiler",
                           "keep_in_fp32_modules",
                           "mixed_precision",
                           "zenflow",
                           "fp32_allreduce",
                           "disable_allgather",
                           "eigenvalue",
                           "gradient_accumulation_dtype",
                           "pipeline",
                           "gradient_allreduce_op",
                           "managed_gradient_accumulation",
                           "use_data_before_expert_parallel_",
                           "use_data_before_expert_parallelism"});
    no_effect(config, {"steps_per_print",
                       "wall_clock_breakdown",
                       "dump_state",
                       "scheduler",
                       "tensorboard",
                       "wandb",
                       "csv_monitor",
                       "comet",
                       "comms_logger",
                       "checkpoint",
                       "memory_breakdown",
                       "aio",
                       "elasticity",
                       "prescale_gradients",
                       "gradient_predivide_factor",
                       "activation_checkpointing",
                       "dataloader_drop_last",
                       "seed",
                       "comms_config",
                       "monitor_config",
                       "timers",
                       "nebula",
                       "disable_python_gc",
                       "log_level",
                       "cuda_visible_devices",
                       "_comment"});
    config.refuse_unknown();
    return plan;
}

ZeroPlan read_deepspeed_file(std::string_view text, std::string_view file) {
    Problems problems(file);
    const JsonValue root = parse_json(text, problems);
    ZeroPlan plan = read_deepspeed(ObjectReader(root, "", problems));
    problems.throw_if_any();
    return plan;
}

ZeroPlan zero_plan_of(std::int64_t stage) {
    ZeroPlan plan;
    plan.stage = stage;
    plan.reduce_bucket_size.reset();
    plan.prefetch_bucket_size.reset();
    plan.param_persistence_threshold.reset();
    plan.own_optimizer = true;
    plan.gradient_clipping.reset();
    return plan;
}

namespace {

JsonValue or_auto(const std::optional<std::int64_t>& value) {
    return value ? JsonValue::of(*value) : JsonValue::of("auto");
}

JsonValue optimizer_section(ZeroOptimizer optimizer) {
    JsonValue out = JsonValue::object();
    out.put("type", JsonValue::of(optimizer == ZeroOptimizer::lion ? "Lion" : "AdamW"));
    if (optimizer == ZeroOptimizer::torch_adamw)
        out.put("params", JsonValue::object().put("torch_adam", JsonValue::of(true)));
    return out;
}

JsonValue on_cpu() { return JsonValue::object().put("device", JsonValue::of("cpu")); }

}  // namespace

JsonValue deepspeed_to_json(const ZeroPlan& plan) {
    JsonValue zero = JsonValue::object();
    zero.put("stage", JsonValue::of(plan.stage));
    zero.put("reduce_bucket_size", or_auto(plan.reduce_bucket_size));
    if (plan.overlap_comm) zero.put("overlap_comm", JsonValue::of(*plan.overlap_comm));
    zero.put("contiguous_gradients", JsonValue::of(plan.contiguous_gradients));
    zero.put("reduce_scatter", JsonValue::of(plan.reduce_scatter));
    const auto of_stage_3 = [&](const char* key, const auto& size, const auto& usual) {
        if (plan.stage == 3 || size != usual) zero.put(key, or_auto(size));
    };
    const ZeroPlan usual;
    of_stage_3("stage3_prefetch_bucket_size", plan.prefetch_bucket_size, usual.prefetch_bucket_size);
    of_stage_3("stage3_param_persistence_threshold", plan.param_persistence_threshold,
               usual.param_persistence_threshold);
    of_stage_3("stage3_max_live_parameters", plan.max_live_parameters, usual.max_live_parameters);
    of_stage_3("stage3_max_reuse_distance", plan.max_reuse_distance, usual.max_reuse_distance);
    of_stage_3("sub_group_size", plan.sub_group_size, usual.sub_group_size);
    if (plan.offload_optimizer) zero.put("offload_optimizer", on_cpu());
    if (plan.offload_param) zero.put("offload_param", on_cpu());
    JsonValue out = JsonValue::object();
    out.put("zero_optimization", std::move(zero));
    if (plan.own_optimizer) out.put("optimizer", optimizer_section(plan.optimizer));
    if (!plan.force_ds_cpu_optimizer) out.put("zero_force_ds_cpu_optimizer", JsonValue::of(false));
    out.put("bf16", JsonValue::object().put("enabled", plan.bf16 ? JsonValue::of(*plan.bf16) : JsonValue::of("auto")));
    if (plan.fp16 != false)
        out.put("fp16",
                JsonValue::object().put("enabled", plan.fp16 ? JsonValue::of(*plan.fp16) : JsonValue::of("auto")));
    if (!plan.clips_by_default)
        out.put("gradient_clipping",
                plan.gradient_clipping ? JsonValue::of(*plan.gradient_clipping) : JsonValue::of("auto"));
    out.put("train_micro_batch_size_per_gpu", or_auto(plan.micro_batch_size));
    out.put("gradient_accumulation_steps", or_auto(plan.gradient_accumulation_steps));
    return out.put("train_batch_size", or_auto(plan.train_batch_size));
}

}  // namespace vramfit
