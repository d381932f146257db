// Unsloth: Python scripts with FastLanguageModel, where the arguments are literal.
#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kUnslothKeys[] = {
    {"from_pretrained.model_name", KeyUse::used, "model", "llama-3.2-1b|llama-3.2-3b"},
    {"from_pretrained.0", KeyUse::used, "model"},
    {"from_pretrained.max_seq_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"from_pretrained.dtype", KeyUse::used, "load.dtype", "float16|bfloat16"},
    {"from_pretrained.load_in_4bit", KeyUse::used, "load.quantization_config", "true|false"},
    {"from_pretrained.load_in_8bit", KeyUse::used, "load.quantization_config", "true|false"},
    {"from_pretrained.full_finetuning", KeyUse::used, "peft", "true|false"},
    {"get_peft_model.r", KeyUse::used, "peft.r", "8|16"},
    {"get_peft_model.lora_alpha", KeyUse::used, "peft.lora_alpha", "8|16"},
    {"get_peft_model.lora_dropout", KeyUse::used, "peft.lora_dropout", "0.1|0"},
    {"get_peft_model.target_modules", KeyUse::used, "peft.target_modules", "[q_proj]|[q_proj, k_proj]"},
    {"get_peft_model.modules_to_save", KeyUse::used, "peft.modules_to_save", "[lm_head]|[embed_tokens]"},
    {"get_peft_model.use_rslora", KeyUse::used, "peft.use_rslora", "true|false"},
    {"get_peft_model.use_gradient_checkpointing", KeyUse::used, "training.gradient_checkpointing", "true|false"},
    {"from_pretrained.load_in_fp8", KeyUse::unsupported, "fp8 is not predicted"},
    {"from_pretrained.fast_inference", KeyUse::unsupported, "vLLM on the same card is not predicted"},
    {"from_pretrained.device_map", KeyUse::unsupported, "a device map is not predicted"},
    {"vision", KeyUse::unsupported, "models of images are not predicted"},
    {"DPOTrainer", KeyUse::unsupported, "training with preferences is not predicted yet"},
    {"GRPOTrainer", KeyUse::unsupported, "training with rewards is not predicted yet"},
    {"ORPOTrainer", KeyUse::unsupported, "training with preferences is not predicted yet"},
    {"KTOTrainer", KeyUse::unsupported, "training with preferences is not predicted yet"},
    {"from_pretrained.*", KeyUse::harmless},
    {"get_peft_model.*", KeyUse::harmless},
};

/// The arguments of SFTConfig and TrainingArguments, whichever the script calls.
constexpr std::string_view kConfigCalls[] = {"SFTConfig", "TrainingArguments", "UnslothTrainingArguments", "SFTTrainer",
                                             "UnslothTrainer"};
constexpr KeyRow kUnslothArguments[] = {
    {"SFTConfig.*", KeyUse::used, "training"},
    {"TrainingArguments.*", KeyUse::used, "training"},
    {"UnslothTrainingArguments.*", KeyUse::used, "training"},
    {"SFTTrainer.*", KeyUse::used, "training"},
    {"UnslothTrainer.*", KeyUse::used, "training"},
};
constexpr std::span<const KeyRow> kUnslothTables[] = {kUnslothKeys, kUnslothArguments};

bool is_unsloth_script(const Document& document) {
    return document.syntax == Syntax::python &&
           (document.root.find("from_pretrained") || document.root.find("get_peft_model"));
}

/// The key of an argument, in whichever call it stands.
std::string argument_key(Reader& reader, std::string_view name) {
    for (const std::string_view call : kConfigCalls) {
        std::string key = fmt::format("{}.{}", call, name);
        if (reader.has(key)) return key;
    }
    return fmt::format("SFTConfig.{}", name);
}

/// bf16 = is_bfloat16_supported(): by the card.
bool unsloth_flag(Reader& reader, const std::string& key, bool otherwise) {
    const Value* value = reader.value(key);
    if (!value) return otherwise;
    if (value->kind == Value::Kind::text && value->text.find("bfloat16_supported") != std::string::npos) {
        const bool on = reader.question().bf16_card != value->text.starts_with("not ");
        reader.derive(key, on ? "true" : "false", "whether the card computes in bfloat16");
        return on;
    }
    return reader.boolean(key).value_or(otherwise);
}

void read_unsloth_adapter(Reader& reader, Draft& draft) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("get_peft_model.r", 16, {.low = 1});
    lora.lora_alpha = reader.real_or("get_peft_model.lora_alpha", 16);
    lora.lora_dropout = reader.real_or("get_peft_model.lora_dropout", 0);
    auto names = reader.texts("get_peft_model.target_modules").value_or(std::vector<std::string>{"all-linear"});
    set_targets(reader, "get_peft_model.target_modules", names, draft);
    lora.modules_to_save = reader.texts("get_peft_model.modules_to_save").value_or(std::vector<std::string>());
    lora.use_rslora = reader.boolean("get_peft_model.use_rslora").value_or(false);
}

// unsloth/models/loader.py, FastLanguageModel.from_pretrained and get_peft_model.
void read_unsloth_script(Reader& reader, Draft& draft) {
    draft.training_read = true;
    TrainPlan& plan = draft.job.plan;
    const bool bf16_card = reader.question().bf16_card;
    plan.load.dtype = reader.has("from_pretrained.dtype")
                          ? read_dtype(reader, "from_pretrained.dtype", draft).value_or(DType::bfloat16)
                          : (bf16_card ? DType::bfloat16 : DType::float16);
    if (reader.has("get_peft_model")) read_unsloth_adapter(reader, draft);
    const bool full = reader.boolean("from_pretrained.full_finetuning").value_or(!plan.peft);
    const bool eight = reader.boolean("from_pretrained.load_in_8bit").value_or(false);
    if (!full && eight)
        quantize_8bit(draft);
    else if (!full && reader.boolean_or("from_pretrained.load_in_4bit", true))
        quantize_4bit(draft, true, plan.load.dtype);
    TrainingPlan& training = plan.training;
    training.per_device_train_batch_size =
        reader.integer(argument_key(reader, "per_device_train_batch_size"), {.low = 1}).value_or(8);
    training.gradient_accumulation_steps =
        reader.integer(argument_key(reader, "gradient_accumulation_steps"), {.low = 1, .high = 10'000}).value_or(1);
    training.fp16 = unsloth_flag(reader, argument_key(reader, "fp16"), !bf16_card);
    training.bf16 = unsloth_flag(reader, argument_key(reader, "bf16"), !training.fp16);
    read_optimizer(reader, argument_key(reader, "optim"), default_optimizer(reader.stack()), draft);
    training.max_grad_norm = reader.real(argument_key(reader, "max_grad_norm")).value_or(1.0);
    const std::string checkpointing = reader.text_or("get_peft_model.use_gradient_checkpointing", "unsloth");
    training.gradient_checkpointing = checkpointing != "false" && checkpointing != "False" && checkpointing != "none";
    require_input_grads(draft);
    std::string length = argument_key(reader, "max_seq_length");
    if (!reader.has(length)) length = argument_key(reader, "max_length");
    if (!reader.has(length)) length = "from_pretrained.max_seq_length";
    draft.length_limit = reader.integer_or(length, 2048, {.low = 1});
    draft.length_key = length;
    draft.length_place = reader.place(length);
    draft.packed = reader.boolean(argument_key(reader, "packing")).value_or(false);
    draft.no_padding_mask = true;
    reader.note(RemarkKind::other_program,
                "Unsloth has kernels of its own for attention, norms, adapters, the loss and checkpointing: the run is "
                "predicted as transformers and peft do it, which need more",
                "a run that fits here fits there; one that does not may");
}

std::string unsloth_model(Reader& reader) {
    auto name = reader.text("from_pretrained.model_name");
    if (!name) name = reader.text("from_pretrained.0");
    return name.value_or("");
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat unsloth_script_entry;
const TrainerFormat unsloth_script_entry = {
    .name = "unsloth-script",
    .title = "Unsloth 2026.8",
    .summary = "Python scripts with FastLanguageModel and literal arguments",
    .order = 2,
    .recognises = trainers::is_unsloth_script,
    .keys = trainers::kUnslothTables,
    .model = trainers::unsloth_model,
    .read = trainers::read_unsloth_script,
};

}  // namespace vramfit::trainer_formats
