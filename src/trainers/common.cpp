// What several formats read in the same way.
#include "trainers/common.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vramfit/spec/config.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyUse kUsed = KeyUse::used;
constexpr KeyUse kUnsupported = KeyUse::unsupported;
constexpr const char* kSomeLayers = "checkpointing of some layers is not predicted";

// transformers 5.17.0 and 5.23.0, training_args.py.
constexpr KeyRow kArgumentRows[] = {
    {"per_device_train_batch_size", kUsed, "training.per_device_train_batch_size", "2|3"},
    {"gradient_accumulation_steps", kUsed, "training.gradient_accumulation_steps", "2|3"},
    {"gradient_checkpointing", kUsed, "training.gradient_checkpointing", "true|false"},
    {"gradient_checkpointing_kwargs.use_reentrant", kUsed, "training.use_reentrant", "true|false"},
    {"activation_checkpointing", kUsed, "training.gradient_checkpointing", "true|false"},
    {"activation_checkpointing_kwargs.use_reentrant", kUsed, "training.use_reentrant", "true|false"},
    {"bf16", kUsed, "training.bf16", "true|false"},
    {"fp16", kUsed, "training.fp16", "true|false"},
    {"optim", kUsed, "training.optim", "sgd|adamw_torch"},
    {"optim_args", kUsed, "training.optim_args", "a=1|b=2"},
    {"max_grad_norm", kUsed, "training.max_grad_norm", "0|2"},
    {"weight_decay", kUsed, "training.weight_decay", "0|0.1"},
    {"torch_empty_cache_steps", kUsed, "training.torch_empty_cache_steps", "1|4"},
    {"use_liger_kernel", kUsed, "training.use_liger_kernel", "true|false"},
    {"use_liger", kUsed, "training.use_liger_kernel", "true|false"},
    {"use_cache", kUsed, "training.use_cache", "true|false"},
    {"eval_strategy", kUsed, "evaluation", "steps|no"},
    {"evaluation_strategy", kUsed, "evaluation", "steps|no"},
    {"eval_on_start", kUsed, "evaluation", "true|false"},
    {kCallsEvaluate, kUsed, "evaluation", "true|false"},
    {"per_device_eval_batch_size", kUsed, "evaluation", "1|64"},
    {"eval_steps", KeyUse::harmless},
    {"eval_accumulation_steps", KeyUse::harmless},
    {"batch_eval_metrics", KeyUse::harmless},
    {"ddp_find_unused_parameters", kUsed, "distributed.ddp", ""},
    {"ddp_bucket_cap_mb", kUsed, "distributed.ddp", ""},
    {"ddp_broadcast_buffers", kUsed, "distributed.ddp", ""},
    {"ddp_static_graph", kUsed, "distributed.ddp", ""},
    {"gradient_checkpointing_kwargs.every_n_layers", kUnsupported, kSomeLayers, "1"},
    {"activation_checkpointing_kwargs.every_n_layers", kUnsupported, kSomeLayers, "1"},
    {"activation_checkpointing_kwargs.*", kUnsupported, "of these arguments only use_reentrant is predicted"},
    {"gradient_checkpointing_kwargs.*", kUnsupported, "of these arguments only use_reentrant is predicted"},
    {"deepspeed", kUnsupported, "DeepSpeed is predicted where its JSON is given as a further file"},
    {"parallelism_config", kUnsupported, "tensor and context parallelism on several GPUs are not predicted"},
    {"per_gpu_train_batch_size", kUnsupported, "the older name of per_device_train_batch_size is not read"},
    {"tp_size", kUnsupported, "tensor parallelism on several GPUs is not predicted", "1"},
    {"use_legacy_prediction_loop", KeyUse::harmless},
    {"torch_compile", kUnsupported, "compiled models are not predicted"},
    {"torch_compile_backend", kUnsupported, "compiled models are not predicted"},
    {"torch_compile_mode", kUnsupported, "compiled models are not predicted"},
    {"jit_mode_eval", kUnsupported, "traced models are not predicted"},
    {"use_ipex", kUnsupported, "Intel's extension is not predicted"},
    {"use_cpu", kUnsupported, "training on the CPU needs no GPU"},
    {"no_cuda", kUnsupported, "training on the CPU needs no GPU"},
    {"use_mps_device", kUnsupported, "other devices than CUDA GPUs are not predicted"},
    {"auto_find_batch_size", kUnsupported, "the batch size is found while running"},
    {"full_determinism", kUnsupported, "full determinism changes the workspaces of cuBLAS"},
    {"label_smoothing_factor", kUnsupported, "label smoothing needs another loss"},
    {"neftune_noise_alpha", kUnsupported, "NEFTune adds noise to the embeddings"},
    {"liger_kernel_config", kUnsupported, "a choice among Liger's kernels is not predicted"},
    {"adafactor", kUnsupported, "the older switch for Adafactor is not predicted"},
    {"predict_with_generate", kUnsupported, "generation during evaluation is not predicted"},
};

constexpr auto kHarmlessRows = harmless_rows(kIgnoredArguments);

}  // namespace

const std::span<const KeyRow> kTrainingArguments = kArgumentRows;
const std::span<const KeyRow> kHarmlessArguments = kHarmlessRows;

void read_ddp(Reader& reader, Draft& draft) {
    DistributedPlan& processes = draft.processes.emplace();
    processes.load_on_device = draft.loads_on_card;
    DdpPlan& ddp = processes.method.emplace<DdpPlan>();
    ddp.find_unused_parameters = reader.boolean("ddp_find_unused_parameters");
    ddp.bucket_cap_mb = reader.integer("ddp_bucket_cap_mb", {.low = 1, .high = 1 << 20});
    ddp.broadcast_buffers = reader.boolean("ddp_broadcast_buffers");
    ddp.static_graph = reader.boolean("ddp_static_graph").value_or(false);
}

std::string default_optimizer(const Stack& stack) {
    return stack.torch >= Version{2, 8, 0} ? "adamw_torch_fused" : "adamw_torch";
}

void read_optimizer(Reader& reader, std::string_view key, std::string otherwise, Draft& draft) {
    const auto given = reader.text(key);
    if (!given) reader.assume(key, otherwise);
    const std::string name = given.value_or(std::move(otherwise));
    draft.job.plan.training.optim = name;
    if (std::find(std::begin(kOptimizerNames), std::end(kOptimizerNames), name) == std::end(kOptimizerNames))
        reader.refuse(key, fmt::format("the optimizer '{}' is not supported", name),
                      did_you_mean(name, kOptimizerNames, "names are those of transformers' OptimizerNames"));
}

void ask_for_evaluation(Reader& reader, bool on, std::string_view key, std::int64_t rows, std::int64_t train_rows,
                        Draft& draft) {
    if (!on) return;
    draft.evaluation = {rows, train_rows, true, std::string(key), reader.place(key)};
}

namespace {

/// transformers 5.23.0, training_args.py __post_init__: of two names the new one counts, where it is given.
void read_checkpointing(Reader& reader, bool otherwise, TrainingPlan& plan) {
    const bool renamed = reader.has("activation_checkpointing");
    plan.gradient_checkpointing =
        reader.boolean_or(renamed ? "activation_checkpointing" : "gradient_checkpointing", otherwise);
    const bool renamed_too = reader.has("activation_checkpointing_kwargs");
    plan.use_reentrant = reader.boolean(renamed_too ? "activation_checkpointing_kwargs.use_reentrant"
                                                    : "gradient_checkpointing_kwargs.use_reentrant");
}

}  // namespace

namespace {

/// ms-swift 4.6 trainers/arguments.py TrainArgumentsMixin: max(1, ceil(16 / batch / world_size)).
std::int64_t accumulation_by_rows(const Reader& reader, std::int64_t rows, std::int64_t batch) {
    const std::int64_t all = batch * reader.question().gpus.value_or(1);
    return std::max<std::int64_t>(1, (rows + all - 1) / all);
}

}  // namespace

void read_training_arguments(Reader& reader, const ArgumentDefaults& defaults, Draft& draft) {
    TrainingPlan& plan = draft.job.plan.training;
    plan.per_device_train_batch_size = reader.integer_or("per_device_train_batch_size", defaults.batch, {.low = 1});
    plan.gradient_accumulation_steps =
        reader.integer_or("gradient_accumulation_steps",
                          accumulation_by_rows(reader, defaults.rows_of_update, plan.per_device_train_batch_size),
                          {.low = 1, .high = 10'000});
    read_checkpointing(reader, defaults.checkpointing, plan);
    plan.fp16 = reader.boolean_or("fp16", false);
    plan.bf16 = reader.boolean_or("bf16", defaults.bf16 && !plan.fp16);
    read_optimizer(reader, "optim", default_optimizer(reader.stack()), draft);
    if (auto arguments = reader.text("optim_args")) plan.optim_args = *arguments;
    plan.max_grad_norm = reader.real_or("max_grad_norm", 1.0);
    plan.weight_decay = reader.real("weight_decay").value_or(defaults.weight_decay);
    plan.torch_empty_cache_steps = reader.integer("torch_empty_cache_steps");
    const auto older = reader.boolean("use_liger");  // trl before 0.18
    plan.use_liger_kernel = older.value_or(false) || reader.boolean_or("use_liger_kernel", false);
    if (const auto cache = reader.boolean("use_cache")) plan.use_cache = *cache;
    const auto strategy =
        reader.has("eval_strategy") ? reader.text("eval_strategy") : reader.text("evaluation_strategy");
    // Trainer itself does not read do_eval (transformers 4.40 to 5.23, training_args.py): the script around it may.
    const bool asks = (strategy && *strategy != "no" && *strategy != "false") ||
                      reader.boolean("eval_on_start").value_or(false) || reader.boolean(kCallsEvaluate).value_or(false);
    const bool evaluates = (defaults.evaluates_at_end && reader.boolean("do_eval").value_or(false)) || asks;
    const auto rows = reader.integer("per_device_eval_batch_size", {.low = 1});
    if (evaluates && !rows) reader.assume("per_device_eval_batch_size", fmt::format("{}", defaults.evaluation_batch));
    ask_for_evaluation(reader, evaluates, "per_device_eval_batch_size", rows.value_or(defaults.evaluation_batch),
                       plan.per_device_train_batch_size, draft);
}

bool is_pattern(const Value* value) {
    return value && value->kind == Value::Kind::text && value->text.find_first_of("\\*()[]|^$+?") != std::string::npos;
}

void set_targets(Reader& reader, std::string_view key, const std::vector<std::string>& names, Draft& draft) {
    TargetModules& targets = draft.job.plan.peft->target_modules;
    const Value* value = reader.value(key);
    if (names.empty()) {
        const std::vector<std::string> usual = default_targets(draft.job.model);
        reader.assume(key, fmt::format("{}", fmt::join(usual, ", ")));
        targets = usual;
    } else if (is_pattern(value)) {
        targets = value->text;
    } else if (names.size() == 1 && (names[0] == "all-linear" || names[0] == "all")) {
        targets = std::string("all-linear");
    } else {
        targets = names;
    }
}

void quantize_4bit(Draft& draft, bool double_quant, DType compute) {
    QuantizationPlan& plan = draft.job.plan.load.quantization.emplace();
    plan.double_quant = double_quant;
    plan.compute_dtype = compute;
}

void quantize_8bit(Draft& draft) { draft.job.plan.load.quantization.emplace().method = QuantMethod::int8; }

void require_input_grads(Draft& draft) {
    if (draft.job.plan.peft && draft.job.plan.training.gradient_checkpointing)
        draft.job.plan.loop.input_require_grads = true;
}

void read_attention(Reader& reader, std::string_view key, Draft& draft) {
    if (!reader.has(key)) return reader.assume(key, "sdpa");
    if (const auto chosen = choice<AttentionImplementation>(reader, key, kAttentionNames))
        draft.job.plan.load.attention = *chosen;
}

std::optional<DType> read_dtype(Reader& reader, std::string_view key, const Draft& draft) {
    auto name = reader.text(key);
    if (!name) return std::nullopt;
    if (*name == "auto") return draft.job.model.checkpoint_dtype.value_or(DType::float32);
    if (name->starts_with("torch.")) name->erase(0, 6);
    for (const auto& [spelling, dtype] :
         {std::pair{"bfloat16", DType::bfloat16}, std::pair{"bf16", DType::bfloat16},
          std::pair{"float16", DType::float16}, std::pair{"fp16", DType::float16}, std::pair{"half", DType::float16},
          std::pair{"float32", DType::float32}, std::pair{"fp32", DType::float32}, std::pair{"float", DType::float32}})
        if (*name == spelling) return dtype;
    reader.refuse(key, fmt::format("weights of the dtype '{}' are not supported", *name),
                  "supported: bfloat16, float16, float32, auto");
    return std::nullopt;
}

}  // namespace vramfit::trainers
