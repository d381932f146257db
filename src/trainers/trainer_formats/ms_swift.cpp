// ms-swift: shell lines of `swift sft`, YAML and JSON with the same arguments.
#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kSwiftKeys[] = {
    {"model", KeyUse::used, "model", "llama-3.2-1b|llama-3.2-3b"},
    {"tuner_type", KeyUse::used, "peft", "lora|full"},
    {"train_type", KeyUse::used, "peft", "lora|full"},
    {"sft_type", KeyUse::used, "peft", "lora|full"},
    {"lora_rank", KeyUse::used, "peft.r", "8|16"},
    {"lora_alpha", KeyUse::used, "peft.lora_alpha", "8|16"},
    {"lora_dropout", KeyUse::used, "peft.lora_dropout", "0.1|0"},
    {"target_modules", KeyUse::used, "peft.target_modules", "[q_proj]|[q_proj, k_proj]"},
    {"modules_to_save", KeyUse::used, "peft.modules_to_save", "[lm_head]|[embed_tokens]"},
    {"use_dora", KeyUse::used, "peft.use_dora", "true|false"},
    {"use_rslora", KeyUse::used, "peft.use_rslora", "true|false"},
    {"torch_dtype", KeyUse::used, "load.dtype", "bfloat16|float32"},
    {"attn_impl", KeyUse::used, "load.attn_implementation", "eager|sdpa"},
    {"quant_method", KeyUse::used, "load.quantization_config", "bnb|hqq"},
    {"quant_bits", KeyUse::used, "load.quantization_config", "4|8"},
    {"bnb_4bit_quant_type", KeyUse::used, "load.quantization_config.bnb_4bit_quant_type", "nf4|fp4"},
    {"bnb_4bit_use_double_quant", KeyUse::used, "load.quantization_config.bnb_4bit_use_double_quant", "true|false"},
    {"max_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"packing", KeyUse::used, "batch", "true|false"},
    {"rlhf_type", KeyUse::unsupported, "training with preferences or rewards is not predicted yet"},
    {"task_type", KeyUse::unsupported, "another task needs another head", "causal_lm"},
    {"adapters", KeyUse::unsupported, "going on from an adapter is not predicted"},
    {"padding_free", KeyUse::unsupported, "flattened batches are not predicted"},
    {"sequence_parallel_size", KeyUse::unsupported, "runs on several cards are not predicted yet", "1"},
    {"freeze_vit", KeyUse::unsupported, "models of images are not predicted", "true"},
    {"freeze_aligner", KeyUse::unsupported, "models of images are not predicted", "true"},
    {"freeze_parameters", KeyUse::unsupported, "training of some parameters is not predicted"},
    {"freeze_parameters_ratio", KeyUse::unsupported, "training of some parameters is not predicted"},
    {"trainable_parameters", KeyUse::unsupported, "training of some parameters is not predicted"},
    {"use_galore", KeyUse::unsupported, "GaLore is not predicted"},
    {"fsdp", KeyUse::unsupported, "what ms-swift makes of FSDP is not known"},
    {"fsdp_config", KeyUse::unsupported, "what ms-swift makes of FSDP is not known"},
    {"tuner_backend", KeyUse::unsupported, "Unsloth's network code is not predicted", "peft"},
    {"device_map", KeyUse::unsupported, "a device map is not predicted"},
    {"rope_scaling", KeyUse::unsupported, "another rotary embedding is not predicted"},
    {"new_special_tokens", KeyUse::unsupported, "the tokenizer decides the size of the embedding"},
    {"vit_gradient_checkpointing", KeyUse::harmless},
};

constexpr std::string_view kSwiftHarmless[] = {
    "dataset",
    "val_dataset",
    "split_dataset_ratio",
    "dataset_num_proc",
    "dataset_shuffle",
    "load_from_cache_file",
    "streaming",
    "template",
    "system",
    "truncation_strategy",
    "lazy_tokenize",
    "model_type",
    "model_revision",
    "use_hf",
    "freeze_llm",
    "custom_register_path",
    "external_plugins",
    "loss_scale",
    "model_author",
    "model_name",
    "strict",
    "add_version",
    "create_checkpoint_symlink",
    "agent_template",
    "init_weights",
    "init_strategy",
    "lorap_lr_ratio",
    "check_model",
    "use_chat_template",
    "cached_dataset",
    "columns",
    "interleave_prob",
};

constexpr auto kSwiftHarmlessRows = harmless_rows(kSwiftHarmless);
const std::span<const KeyRow> kSwiftTables[] = {kSwiftKeys, kTrainingArguments, kSwiftHarmlessRows, kHarmlessArguments};

bool is_swift(const Document& document) {
    if (document.program.starts_with("swift ")) return true;
    const Value& root = document.root;
    if (root.kind != Value::Kind::map || !document.launcher.empty()) return false;
    const Value* model = root.find("model");
    return model && model->is_scalar() && (root.find("tuner_type") || root.find("train_type") || root.find("sft_type"));
}

void read_swift_lora(Reader& reader, Draft& draft) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("lora_rank", 8, {.low = 1});
    lora.lora_alpha = reader.real_or("lora_alpha", 32);
    lora.lora_dropout = reader.real_or("lora_dropout", 0.05);
    const auto names = reader.texts("target_modules");
    if (!names) reader.assume("target_modules", "all-linear");
    set_targets(reader, "target_modules", names.value_or(std::vector<std::string>{"all-linear"}), draft);
    lora.modules_to_save = reader.texts("modules_to_save").value_or(std::vector<std::string>());
    lora.use_dora = reader.boolean("use_dora").value_or(false);
    lora.use_rslora = reader.boolean("use_rslora").value_or(false);
}

void read_swift_quantization(Reader& reader, Draft& draft) {
    const std::string method = reader.text("quant_method").value_or("");
    const auto bits = reader.integer("quant_bits");
    if (method.empty() && !bits) return;
    if (method != "bnb")
        return reader.refuse("quant_method", fmt::format("the quantizer '{}' is not supported", method),
                             "supported: bnb");
    if (bits == 8) return quantize_8bit(draft);
    if (bits != 4) return reader.refuse("quant_bits", "only 4 and 8 bits are supported");
    quantize_4bit(draft, reader.boolean_or("bnb_4bit_use_double_quant", true), draft.job.plan.load.dtype);
    constexpr Named<QuantMethod> kTypes[] = {{"nf4", QuantMethod::nf4}, {"fp4", QuantMethod::fp4}};
    if (const auto type = choice<QuantMethod>(reader, "bnb_4bit_quant_type", kTypes))
        draft.job.plan.load.quantization->method = *type;
}

// swift/llm/argument/{base_args,train_args,tuner_args}.py.
void read_swift(Reader& reader, Draft& draft) {
    draft.training_read = true;
    draft.no_zero = kLoadsOnCard;
    draft.no_zero3 = nullptr;
    draft.reentrant_unless_ddp = true;
    TrainPlan& plan = draft.job.plan;
    const std::string& program = reader.document().program;
    if (program.starts_with("swift ") && program != "swift sft" && program != "swift pt")
        reader.refuse("model", fmt::format("'{}' is not predicted yet", program), "supported: swift sft, swift pt");
    const auto dtype = read_dtype(reader, "torch_dtype", draft);
    plan.load.dtype = dtype.value_or(draft.job.model.checkpoint_dtype.value_or(DType::bfloat16));
    if (!dtype) reader.assume("torch_dtype", std::string(name_of(plan.load.dtype)));
    read_training_arguments(reader, {.batch = 1, .checkpointing = true, .bf16 = plan.load.dtype == DType::bfloat16},
                            draft);
    constexpr Named<AttentionImplementation> kNames[] = {
        {"eager", AttentionImplementation::eager},
        {"sdpa", AttentionImplementation::sdpa},
        {"flash_attn", AttentionImplementation::flash_attention_2},
        {"flash_attention_2", AttentionImplementation::flash_attention_2}};
    if (const auto chosen = choice<AttentionImplementation>(reader, "attn_impl", kNames)) plan.load.attention = *chosen;
    std::string tuner = "lora";
    for (const char* key : {"sft_type", "train_type", "tuner_type"})
        if (const auto given = reader.text(key)) tuner = *given;
    if (tuner == "lora")
        read_swift_lora(reader, draft);
    else if (tuner != "full")
        reader.refuse(reader.has("tuner_type") ? "tuner_type" : "train_type",
                      fmt::format("'{}' is not supported", tuner), "supported: full, lora");
    read_swift_quantization(reader, draft);
    require_input_grads(draft);
    draft.length_limit = reader.integer("max_length", {.low = 1}).value_or(0);
    draft.length_key = "max_length";
    draft.length_place = reader.place("max_length");
    draft.packed = reader.boolean_or("packing", false);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat ms_swift_entry;
const TrainerFormat ms_swift_entry = {
    .name = "ms-swift",
    .title = "ms-swift 3 and 4",
    .summary = "shell lines of swift sft, YAML and JSON with its arguments",
    .order = 70,
    .recognises = trainers::is_swift,
    .keys = trainers::kSwiftTables,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_swift,
    .knobs = {.batch = "per_device_train_batch_size",
              .accumulation = "gradient_accumulation_steps",
              .length = "max_length",
              .checkpointing = "gradient_checkpointing",
              .optimizer = "optim",
              .quantize = "quant_method=bnb quant_bits=4",
              .rank = "lora_rank"},
};

}  // namespace vramfit::trainer_formats
