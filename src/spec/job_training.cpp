// Job files: the key `training` with the arguments of transformers.TrainingArguments or trl.SFTConfig.
#include <algorithm>

#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "spec/training_names.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

using Kind = JsonValue::Kind;

constexpr std::int64_t kLargestCount = std::int64_t{1} << 31;
constexpr std::int64_t kMostMicroSteps = 10'000;

// An argument that changes the memory of the steps in ways that are not predicted, and what to say about it.
struct Refused {
    std::string_view key;
    std::string_view what;
    std::string_view hint = "leave the key out";
};

constexpr Refused kRefused[] = {
    {"fsdp", "fully sharded training is not supported"},
    {"parallelism_config", "runs on several GPUs are not supported"},
    {"torch_compile", "compiled models are not supported"},
    {"torch_compile_backend", "compiled models are not supported"},
    {"torch_compile_mode", "compiled models are not supported"},
    {"torchdynamo", "compiled models are not supported"},
    {"jit_mode_eval", "traced models are not supported"},
    {"use_ipex", "Intel's extension is not supported"},
    {"use_cpu", "training on the CPU needs no GPU"},
    {"no_cuda", "training on the CPU needs no GPU"},
    {"use_mps_device", "other devices than CUDA GPUs are not supported"},
    {"mp_parameters", "SageMaker's model parallelism is not supported"},
    {"auto_find_batch_size", "a batch size that is found while running is not supported",
     "give the batch size, or sweep over it"},
    {"full_determinism", "full determinism is not supported",
     "set environment.CUBLAS_WORKSPACE_CONFIG, which is what it changes"},
    {"label_smoothing_factor", "label smoothing is not supported"},
    {"neftune_noise_alpha", "NEFTune is not supported"},
    {"liger_kernel_config", "a choice among Liger's kernels is not supported"},
    {"adafactor", "the older switch for Adafactor is not supported", "write \"optim\": \"adafactor\""},
    {"per_gpu_train_batch_size", "the older name is not supported", "write per_device_train_batch_size"},
    {"use_legacy_prediction_loop", "the older loop is not supported"},
};

constexpr Refused kRefusedSft[] = {
    {"packing", "packing by trl is not supported", "give the packed length as batch.sequence_length"},
    {"padding_free", "flattened batches are not supported", "give one row of their whole length"},
    {"activation_offloading", "activations in host memory are not supported"},
};

// What the library takes as "not used".
bool is_unused_argument(const JsonValue& value) {
    switch (value.kind) {
        case Kind::null: return true;
        case Kind::boolean: return !value.boolean;
        case Kind::integer:
        case Kind::real: return value.real == 0;
        case Kind::text: return value.text.empty() || value.text == "no";
        case Kind::list:
        case Kind::object: return value.items.empty();
    }
    return false;
}

void refuse(ObjectReader& training, std::span<const Refused> table) {
    for (const Refused& refused : table) {
        const JsonValue* value = training.value(refused.key);
        if (value && !is_unused_argument(*value))
            training.problems().unsupported(training.path(refused.key), std::string(refused.what),
                                            std::string(refused.hint));
    }
}

void read_sft(ObjectReader& training, TrainingPlan& plan) {
    refuse(training, kRefusedSft);
    for (const std::string_view key : kIgnoredSftArguments) training.skip(key);
    const std::string_view length = training.has("max_length") ? "max_length" : "max_seq_length";  // trl 0.9 to 0.19
    plan.max_length = training.integer(length, {.low = 1, .high = kLargestCount}, Null::absent);
    plan.router_aux_loss_coef = training.real("router_aux_loss_coef", {}, Null::absent);
    const auto loss = training.text("loss_type", Null::absent);
    if (loss && *loss != "nll")
        training.problems().unsupported(training.path("loss_type"),
                                        fmt::format("the loss '{}' is not supported", *loss), "supported: nll");
    const JsonValue* multiple = training.value("pad_to_multiple_of");
    if (multiple && multiple->kind == Kind::integer && multiple->integer > 1) {
        training.problems().unsupported(training.path("pad_to_multiple_of"), "padding to a multiple is not supported",
                                        "give the padded length as batch.sequence_length");
    }
}

void read_optimizer(ObjectReader& training, TrainingPlan& plan) {
    if (const auto optim = training.text("optim")) {
        plan.optim = *optim;
        if (std::find(std::begin(kOptimizerNames), std::end(kOptimizerNames), *optim) == std::end(kOptimizerNames)) {
            training.problems().invalid(
                training.path("optim"), fmt::format("unknown optimizer '{}'", *optim),
                did_you_mean(*optim, kOptimizerNames, "names are those of transformers' OptimizerNames"));
        }
    }
    ObjectReader::set(plan.optim_args, training.text("optim_args", Null::absent));
    ObjectReader::set(plan.weight_decay, training.real("weight_decay", {}));
    const JsonValue* norm = training.value("max_grad_norm");
    if (norm && norm->kind == Kind::null) plan.max_grad_norm = 0;  // Trainer: None and 0 both mean no clipping
    ObjectReader::set(plan.max_grad_norm, training.real("max_grad_norm", {}, Null::absent));
}

}  // namespace

void read_training(ObjectReader& training, LoopKind kind, TrainingPlan& plan) {
    ObjectReader::set(plan.per_device_train_batch_size,
                      training.integer("per_device_train_batch_size", {.low = 1, .high = kLargestCount}));
    ObjectReader::set(plan.gradient_accumulation_steps,
                      training.integer("gradient_accumulation_steps", {.low = 1, .high = kMostMicroSteps}));
    ObjectReader::set(plan.gradient_checkpointing, training.boolean("gradient_checkpointing"));
    plan.use_reentrant = read_checkpointing_kwargs(training);
    ObjectReader::set(plan.bf16, training.boolean("bf16"));
    ObjectReader::set(plan.fp16, training.boolean("fp16"));
    read_optimizer(training, plan);
    plan.torch_empty_cache_steps =
        training.integer("torch_empty_cache_steps", {.low = 1, .high = kLargestCount}, Null::absent);
    ObjectReader::set(plan.use_liger_kernel, training.boolean("use_liger_kernel"));
    ObjectReader::set(plan.cut_cross_entropy, training.boolean("cut_cross_entropy"));
    ObjectReader::set(plan.optimizer_in_backward, training.boolean("optimizer_in_backward"));
    ObjectReader::set(plan.use_cache, training.boolean("use_cache", Null::absent));
    refuse(training, kRefused);
    for (const std::string_view key : kIgnoredArguments) training.skip(key);
    if (kind == LoopKind::sft) read_sft(training, plan);
}

}  // namespace vramfit
