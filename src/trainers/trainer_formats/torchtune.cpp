// torchtune: YAML of its recipes, with components.
#include <algorithm>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/preferences.hpp"
#include "trainers/second_networks.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr const char* kEarlyExits =
    "early exits, which torchtune has for several GPUs only (dev/early_exit_finetune_distributed), are not predicted";
constexpr const char* kRewards =
    "GRPO, which torchtune has for several GPUs only (dev/grpo_full_finetune_distributed), is not predicted";

constexpr KeyRow kTuneKeys[] = {
    {"model._component_", KeyUse::used, "model",
     "torchtune.models.llama3_2.lora_llama3_2_1b|torchtune.models.llama3_2.lora_llama3_2_3b"},
    {"model.lora_attn_modules", KeyUse::used, "peft.target_modules", "[q_proj]|[q_proj, k_proj]"},
    {"model.apply_lora_to_mlp", KeyUse::used, "peft.target_modules", "true|false"},
    {"model.apply_lora_to_output", KeyUse::used, "peft.target_modules", "true|false"},
    {"model.lora_rank", KeyUse::used, "peft.r", "8|16"},
    {"model.lora_alpha", KeyUse::used, "peft.lora_alpha", "8|16"},
    {"model.lora_dropout", KeyUse::used, "peft.lora_dropout", "0.1|0"},
    {"model.use_dora", KeyUse::used, "peft.use_dora", "true|false"},
    {"model.quantize_base", KeyUse::used, "load.quantization_config", "true|false"},
    {"dtype", KeyUse::used, "load.dtype", "bf16|fp32"},
    {"tokenizer.max_seq_len", KeyUse::used, "batch.sequence_length", "128|256"},
    {"dataset.packed", KeyUse::used, "batch", "true|false"},
    {"batch_size", KeyUse::used, "training.per_device_train_batch_size", "2|3"},
    {"batch_size_val", KeyUse::used, "evaluation", "1|64"},
    {"run_val_every_n_steps", KeyUse::used, "evaluation", "10|0"},
    {"gradient_accumulation_steps", KeyUse::used, "training.gradient_accumulation_steps", "2|3"},
    {"enable_activation_checkpointing", KeyUse::used, "training.gradient_checkpointing", "true|false"},
    {"optimizer._component_", KeyUse::used, "training.optim", "torch.optim.SGD|torch.optim.AdamW"},
    {"optimizer.fused", KeyUse::used, "training.optim", "true|false"},
    {"clip_grad_norm", KeyUse::used, "training.max_grad_norm", "1|2"},
    {"optimizer_in_bwd", KeyUse::used, "training.optimizer_in_backward", "true|false"},
    {"loss._component_", KeyUse::used, "loop.loss", "torch.nn.CrossEntropyLoss|torchtune.rlhf.loss.DPOLoss"},

    {"quantizer._component_", KeyUse::used, "quantization"},
    {"quantizer.*", KeyUse::harmless},
    {"enable_activation_offloading", KeyUse::unsupported, "activations in host memory are not predicted"},
    {"ac_mode", KeyUse::unsupported, "selective checkpointing is not predicted"},
    {"ac_option", KeyUse::unsupported, "selective checkpointing is not predicted"},
    {"compile", KeyUse::unsupported, "compiled models are not predicted"},
    {"fsdp_cpu_offload", KeyUse::unsupported, "fully sharded training is not predicted yet"},
    {"custom_sharded_layers", KeyUse::unsupported, "fully sharded training is not predicted yet"},
    {"data_parallel_shard_dim", KeyUse::unsupported, "runs on several GPUs are not predicted yet", "1"},
    {"data_parallel_replicate_dim", KeyUse::unsupported, "runs on several GPUs are not predicted yet", "1"},
    {"tensor_parallel_dim", KeyUse::unsupported, "runs on several GPUs are not predicted yet", "1"},
    {"tensor_parallel_plan", KeyUse::unsupported, "runs on several GPUs are not predicted yet"},
    {"context_parallel_dim", KeyUse::unsupported, "runs on several GPUs are not predicted yet", "1"},
    {"early_exit_loss", KeyUse::unsupported, kEarlyExits},
    {"layer_dropout", KeyUse::unsupported, kEarlyExits},
    {"grpo_samples", KeyUse::unsupported, kRewards},
    {"reward_functions", KeyUse::unsupported, kRewards},
    {"fsdp_sharding_strategy", KeyUse::unsupported, "fully sharded training is not predicted yet", "FULL_SHARD"},
    {"memory_efficient_fsdp_wrap", KeyUse::unsupported, "fully sharded training is not predicted yet"},
    {"use_flex", KeyUse::unsupported, "flex attention is not predicted"},
    {"collate_fn", KeyUse::unsupported, "sequences that this function puts together are not predicted",
     "torchtune.data.padded_collate_sft|torchtune.data.padded_collate_packed"},
    {"enable_fp8_training", KeyUse::unsupported, "fp8 is not predicted"},
    {"resize_token_embeddings", KeyUse::unsupported, "the tokenizer decides the size"},
    {"teacher_model._component_", KeyUse::used, "loop.teacher"},
    {"teacher_model.*", KeyUse::unsupported, "this argument of the teacher is not predicted"},
    {"kd_loss._component_", KeyUse::used, "loop.kind"},
    {"kd_loss.*", KeyUse::harmless},
    {"reward_and_value_model", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"value_model", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"policy_model", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"ref_policy_model", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"generation", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"orchestration", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"tasks", KeyUse::unsupported, "the file evaluates and trains nothing"},
    {"prompt", KeyUse::unsupported, "the file generates and trains nothing"},
    {"model.decoder_trainable", KeyUse::unsupported, "models of images are not predicted"},
    {"model.encoder_trainable", KeyUse::unsupported, "models of images are not predicted"},
    {"model.fusion_trainable", KeyUse::unsupported, "models of images are not predicted"},
    {"model.*", KeyUse::unsupported, "this argument of the network is not predicted"},
    {"tokenizer.*", KeyUse::harmless},
    {"dataset", KeyUse::harmless},
    {"dataset.*", KeyUse::harmless},
    {"optimizer.*", KeyUse::harmless},
    {"loss.*", KeyUse::harmless},
};

constexpr std::string_view kTuneHarmless[] = {
    "seed",
    "output_dir",
    "checkpointer",
    "resume_from_checkpoint",
    "save_adapter_weights_only",
    "dataset_val",
    "shuffle",
    "epochs",
    "max_steps_per_epoch",
    "lr_scheduler",
    "metric_logger",
    "profiler",
    "log_every_n_steps",
    "log_peak_memory_stats",
    "log_level",
    "device",
    "fsdp_reshard_after_forward",
    "enable_async_checkpointing",
    "load_from_recipe_state",
    "save_every_n_steps",
    "early_exit_loader",
    "keep_last_n_checkpoints",
    "cudnn_deterministic_mode",
    "low_cpu_ram",
    "forward_batch_size",
    "safe_model_config",
    "low_ram",
    "max_seq_length",
    "enable_kv_cache",
    "ppo_checkpointer",
    "inter_op_threads",
    "log_cache_dir",
    "num_workers",
    "dataloader",
    "label_smoothing",
    "profile_memory",
    "datasets",
    "fake_quant_after_n_steps",
    "fsdp",
    "gamma",
    "include_path",
    "kd_ratio",
    "kl_coeff",
    "limit",
    "lmbda",
    "max_generated_tokens",
    "max_new_tokens",
    "min_response_length",
    "num_steps",
    "penalise_no_eos",
    "ppo_batch_size",
    "ppo_epochs",
    "ref_checkpointer",
    "ref_policy_checkpointer",
    "reward_checkpointer",
    "reward_penalty",
    "stop_token_ids",
    "teacher_checkpointer",
    "temperature",
    "top_k",
    "value_checkpointer",
    "whiten_rewards",
    "name",
    "base_model_path",
    "save_every_n_epochs",
    "use_distributed_state_dict",
};

constexpr auto kTuneHarmlessRows = harmless_rows(kTuneHarmless);
constexpr std::span<const KeyRow> kTuneTables[] = {kTuneKeys, kTuneHarmlessRows};

/// torchtune 0.6, models/*/_model_builders.py: the builder without its lora_ or qlora_, and the built-in model.
struct TuneBuilder {
    std::string_view builder;
    std::string_view model;
};
constexpr TuneBuilder kTuneBuilders[] = {
    {"gemma_2b", "gemma-2b"},
    {"gemma_7b", "gemma-7b"},
    {"gemma2_2b", "gemma-2-2b"},
    {"gemma2_9b", "gemma-2-9b"},
    {"gemma2_27b", "gemma-2-27b"},
    {"llama2_7b", "llama-2-7b"},
    {"llama2_13b", "llama-2-13b"},
    {"llama2_70b", "llama-2-70b"},
    {"llama3_8b", "llama-3-8b"},
    {"llama3_70b", "llama-3-70b"},
    {"llama3_1_8b", "llama-3.1-8b"},
    {"llama3_1_70b", "llama-3.1-70b"},
    {"llama3_1_405b", "llama-3.1-405b"},
    {"llama3_2_1b", "llama-3.2-1b"},
    {"llama3_2_3b", "llama-3.2-3b"},
    {"llama3_3_70b", "llama-3.3-70b-instruct"},
    {"mistral_7b", "mistral-7b-v0.1"},
    {"phi3_mini", "phi-3-mini-4k-instruct"},
    {"phi4_14b", "phi-4"},
    {"qwen2_0_5b", "qwen2-0.5b"},
    {"qwen2_1_5b", "qwen2-1.5b"},
    {"qwen2_7b", "qwen2-7b"},
    {"qwen2_5_0_5b", "qwen2.5-0.5b"},
    {"qwen2_5_1_5b", "qwen2.5-1.5b"},
    {"qwen2_5_3b", "qwen2.5-3b"},
    {"qwen2_5_7b", "qwen2.5-7b"},
    {"qwen2_5_14b", "qwen2.5-14b-instruct-1m"},
    {"qwen2_5_32b", "qwen2.5-32b"},
    {"qwen2_5_72b", "qwen2.5-72b"},
    {"qwen3_0_6b", "qwen3-0.6b"},
    {"qwen3_1_7b", "qwen3-1.7b"},
    {"qwen3_4b", "qwen3-4b"},
    {"qwen3_8b", "qwen3-8b"},
    {"qwen3_14b", "qwen3-14b"},
    {"qwen3_32b", "qwen3-32b"},
};

bool is_torchtune(const Document& document) {
    if (document.program.starts_with("tune ")) return true;
    const Value* component = document.root.at("model._component_");
    if (!component) component = document.root.at("tokenizer._component_");
    return component && component->text.starts_with("torchtune.");
}

std::string_view builder_of(std::string_view component) {
    component.remove_prefix(std::min(component.size(), component.rfind('.') + 1));
    for (const std::string_view prefix : {"qlora_", "lora_"})
        if (component.starts_with(prefix)) component.remove_prefix(prefix.size());
    return component;
}

/// The built-in model that a component builds, without its adapters; empty: not known.
std::string model_of(std::string_view component) {
    std::string_view builder = builder_of(component);
    for (const std::string_view ending : {"_instruct", "_base"})
        if (builder.ends_with(ending)) builder.remove_suffix(ending.size());
    for (const TuneBuilder& each : kTuneBuilders)
        if (each.builder == builder) return std::string(each.model);
    return {};
}

std::string tune_model(Reader& reader) { return model_of(reader.text("model._component_").value_or("")); }

void read_tune_lora(Reader& reader, Draft& draft, const std::string& component) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("model.lora_rank", 8, {.low = 1});
    lora.lora_alpha = reader.real_or("model.lora_alpha", 16);
    lora.lora_dropout = reader.real_or("model.lora_dropout", 0);
    lora.use_dora = reader.boolean("model.use_dora").value_or(false);
    std::vector<std::string> names;
    for (const std::string& name : reader.texts("model.lora_attn_modules").value_or(std::vector<std::string>()))
        names.push_back(name == "output_proj" ? "o_proj" : name);
    if (reader.boolean_or("model.apply_lora_to_mlp", false))
        for (const char* name : {"gate_proj", "up_proj", "down_proj"}) names.emplace_back(name);
    if (reader.boolean_or("model.apply_lora_to_output", false)) names.emplace_back("lm_head");
    if (names.empty())
        reader.invalid("model.lora_attn_modules", "an adapter needs its modules",
                       "lora_attn_modules: [q_proj, v_proj]");
    lora.target_modules = names;
    const bool quantized = component.find(".qlora_") != component.npos;
    if (reader.boolean("model.quantize_base").value_or(quantized))
        quantize_4bit(draft, true, draft.job.plan.load.dtype);
}

void read_tune_optimizer(Reader& reader, Draft& draft) {
    struct Name {
        std::string_view component;
        const char* optim;
    };
    constexpr Name kNames[] = {{"torch.optim.AdamW", "adamw_torch"},
                               {"torch.optim.Adam", "adamw_torch"},
                               {"torch.optim.SGD", "sgd"},
                               {"torch.optim.Adagrad", "adagrad"},
                               {"bitsandbytes.optim.PagedAdamW8bit", "paged_adamw_8bit"},
                               {"bitsandbytes.optim.PagedAdamW", "paged_adamw_32bit"},
                               {"bitsandbytes.optim.AdamW8bit", "adamw_bnb_8bit"}};
    const std::string component = reader.text("optimizer._component_").value_or("");
    std::string& optim = draft.job.plan.training.optim;
    optim.clear();
    for (const Name& name : kNames)
        if (name.component == component) optim = name.optim;
    if (component.empty())
        reader.refuse("model._component_", "the file has no optimizer and trains nothing",
                      "check a file of a training");
    else if (optim.empty())
        reader.refuse("optimizer._component_", fmt::format("the optimizer {} is not predicted", component));
    if (optim == "adamw_torch" && reader.boolean("optimizer.fused").value_or(false)) optim = "adamw_torch_fused";
}

void read_tune_loss(Reader& reader) {
    const std::string loss = reader.text("loss._component_").value_or("");
    const bool plain = loss.empty() || loss == "torch.nn.CrossEntropyLoss" ||
                       loss.ends_with("CEWithChunkedOutputLoss") || loss.ends_with("LinearCrossEntropyLoss");
    if (!plain) reader.refuse("loss._component_", fmt::format("the loss {} is not predicted", loss));
}

// recipes/knowledge_distillation_single_device.py, torchtune 0.6: the teacher in the student's dtype on the same GPU,
// its logits of the student's rows; forward Kullback-Leibler divergence (trl: beta 0) of rows from the data (lmbda 0).
void read_tune_teacher(Reader& reader, Draft& draft) {
    constexpr const char* kKey = "teacher_model._component_";
    if (!reader.has("teacher_model")) return;
    TrainPlan& plan = draft.job.plan;
    const std::string component = reader.text(kKey).value_or(""),
                      loss = reader.text("kd_loss._component_").value_or("");
    if (!loss.empty() && loss.find("ForwardKL") == loss.npos)
        reader.refuse("kd_loss._component_", fmt::format("the loss {} is not predicted", loss));
    if (const std::string name = model_of(component); name.empty() || component.find("lora_") != component.npos)
        reader.refuse(kKey, fmt::format("the network of {} is not known", component));
    else
        plan.teacher = second_by_name(reader, kKey, name);
    if (plan.teacher) {
        plan.teacher->dtype = plan.load.dtype;
        plan.teacher->on_device = true;
    }
    plan.loop.kind = LoopKind::gkd;
    plan.distillation.lmbda = 0;
    plan.distillation.beta = 0;
    plan.distillation.has_temperature = false;
    refuse_evaluation(reader, "evaluation in distillation is not predicted", draft);
    reader.note(
        RemarkKind::other_program,
        "torchtune's distillation is predicted as trl's GKDTrainer runs it with lmbda 0 and beta 0: whole logits "
        "of both networks, and no cross-entropy beside the divergence",
        "the weights of both networks are the same; logits and losses are not exact");
}

// recipes/{lora,full}_finetune_single_device.py, torchtune 0.6: all weights, gradients and states in one dtype.
void read_torchtune(Reader& reader, Draft& draft) {
    draft.training_read = true;
    TrainPlan& plan = draft.job.plan;
    const std::string component = reader.text("model._component_").value_or("");
    if (draft.job.model.name.empty() && tune_model(reader).empty())
        reader.refuse("model._component_", fmt::format("the network of {} is not known", component));
    reader.text_or("dtype", "bf16");
    plan.load.dtype =
        reader.has("dtype") ? read_dtype(reader, "dtype", draft).value_or(DType::bfloat16) : DType::bfloat16;
    if (component.find("lora_") != component.npos) {
        read_tune_lora(reader, draft, component);
        plan.load.cast_after_adapter = plan.load.dtype;
    }
    plan.training.per_device_train_batch_size = reader.integer_or("batch_size", 1, {.low = 1});
    plan.training.gradient_accumulation_steps =
        reader.integer_or("gradient_accumulation_steps", 1, {.low = 1, .high = 10'000});
    plan.training.gradient_checkpointing = reader.boolean_or("enable_activation_checkpointing", false);
    plan.training.use_reentrant = false;
    plan.training.max_grad_norm = reader.real_or("clip_grad_norm", 0);
    if (const auto quantizer = reader.text("quantizer._component_"))
        reader.refuse("quantizer._component_",
                      component.find("lora_") != component.npos
                          ? "quantization-aware training of adapters, which torchtune has for several GPUs only "
                            "(qat_lora_finetune_distributed), is not predicted"
                          : "quantization-aware training and quantization are not predicted");
    read_tune_optimizer(reader, draft);
    plan.training.optimizer_in_backward = reader.boolean("optimizer_in_bwd").value_or(false);
    read_tune_loss(reader);
    read_tune_teacher(reader, draft);
    draft.length_limit = reader.integer("tokenizer.max_seq_len", {.low = 1}).value_or(0);
    draft.length_key = "tokenizer.max_seq_len";
    draft.length_place = reader.place("tokenizer.max_seq_len");
    draft.packed = reader.boolean_or("dataset.packed", false);
    draft.packing_needs_mask = true;
    draft.no_padding_mask = !draft.packed;
    const std::int64_t rows = plan.training.per_device_train_batch_size;
    ask_for_evaluation(reader, reader.integer("run_val_every_n_steps").value_or(0) > 0, "batch_size_val",
                       reader.integer("batch_size_val", {.low = 1}).value_or(rows), rows, draft);
    reader.note(RemarkKind::other_program,
                "torchtune has network code of its own: the same network with the same adapters, dtypes and optimizer "
                "is predicted as transformers runs it, with whole logits where torchtune takes them in chunks",
                "weights, gradients and optimizer states are the same; activations and logits are not exact");
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat torchtune_entry;
const TrainerFormat torchtune_entry = {
    .name = "torchtune",
    .title = "torchtune 0.6",
    .summary = "YAML of tune run",
    .order = 20,
    .recognises = trainers::is_torchtune,
    .keys = trainers::kTuneTables,
    .releases = "torchtune up to 0.6",
    .model = trainers::tune_model,
    .read = trainers::read_torchtune,
    .knobs = {.batch = "batch_size",
              .accumulation = "gradient_accumulation_steps",
              .rank = "model.lora_rank",
              .checkpointing = "enable_activation_checkpointing=true",
              .optimizer_in_backward = "optimizer_in_bwd=true clip_grad_norm=",
              .optimizer = "optimizer._component_=bitsandbytes.optim.PagedAdamW8bit optimizer.fused=",
              .unpacked = "dataset.packed=false",
              .bfloat16 = "dtype=bf16",
              .quantize = "model.quantize_base=true"},
};

}  // namespace vramfit::trainer_formats
