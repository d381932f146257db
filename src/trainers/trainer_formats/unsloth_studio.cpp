// Unsloth Studio: YAML of its training form.
#include <fmt/format.h>

#include "spec/unsloth_copies.hpp"
#include "trainers/common.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/unsloth.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kStudioKeys[] = {
    {"model", KeyUse::used, "model", "llama-3.2-1b|llama-3.2-3b"},
    {"training.training_type", KeyUse::used, "peft", "lora|full"},
    {"training.max_seq_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"training.load_in_4bit", KeyUse::used, "load.quantization_config", "true|false"},
    {"training.batch_size", KeyUse::used, "training.per_device_train_batch_size", "2|3"},
    {"training.gradient_accumulation_steps", KeyUse::used, "training.gradient_accumulation_steps", "2|3"},
    {"training.packing", KeyUse::used, "batch", "true|false"},
    {"training.gradient_checkpointing", KeyUse::used, "training.gradient_checkpointing", "true|none"},
    {"training.optim", KeyUse::used, "training.optim", "adamw_torch|adamw_8bit"},
    {"lora.lora_r", KeyUse::used, "peft.r", "8|16"},
    {"lora.lora_alpha", KeyUse::used, "peft.lora_alpha", "8|16"},
    {"lora.lora_dropout", KeyUse::used, "peft.lora_dropout", "0.1|0"},
    {"lora.target_modules", KeyUse::used, "peft.target_modules", "[q_proj]|[q_proj, k_proj]"},
    {"lora.use_rslora", KeyUse::used, "peft.use_rslora", "true|false"},
    {"lora.use_dora", KeyUse::used, "peft.use_dora", "true|false"},
    {"lora.vision_all_linear", KeyUse::unsupported, "models of images are not predicted"},
    {"audio_type", KeyUse::unsupported, "models of sound are not predicted"},
    {"lora.use_loftq", KeyUse::unsupported, "LoftQ needs memory while loading that is not predicted"},
    {"lora.finetune_vision_layers", KeyUse::harmless},
    {"training.*", KeyUse::harmless},
    {"lora.*", KeyUse::harmless},
};

constexpr std::string_view kStudioHarmless[] = {
    "data", "logging", "inference", "audio_input", "trust_remote_code", "chat_template", "is_vision", "is_audio"};
constexpr auto kStudioHarmlessRows = harmless_rows(kStudioHarmless);
constexpr std::span<const KeyRow> kStudioTables[] = {kStudioKeys, kStudioHarmlessRows};

bool is_unsloth_studio(const Document& document) {
    const Value& root = document.root;
    return root.find("training") && root.find("lora") && root.find("logging");
}

// unsloth/models/loader.py and studio's form: what transformers would do with the same choices.
void read_unsloth_studio(Reader& reader, Draft& draft) {
    draft.training_read = true;
    TrainPlan& plan = draft.job.plan;
    // studio/backend/core/training/trainer.py: bf16 where the card has it.
    const bool bf16_card = reader.question().bf16_card;
    plan.load.dtype = bf16_card ? DType::bfloat16 : DType::float16;
    (bf16_card ? plan.training.bf16 : plan.training.fp16) = true;
    const std::string type = reader.text_or("training.training_type", "lora");
    if (type == "lora") {
        LoraPlan& lora = plan.peft.emplace();
        lora.r = reader.integer_or("lora.lora_r", 64, {.low = 1});
        lora.lora_alpha = reader.real_or("lora.lora_alpha", 16);
        lora.lora_dropout = reader.real_or("lora.lora_dropout", 0);
        auto names = reader.texts("lora.target_modules").value_or(std::vector<std::string>());
        if (names.empty()) names = {"all-linear"};
        set_targets(reader, "lora.target_modules", names, draft);
        lora.use_rslora = reader.boolean("lora.use_rslora").value_or(false);
        lora.use_dora = reader.boolean("lora.use_dora").value_or(false);
        if (reader.boolean("training.load_in_4bit").value_or(true)) quantize_4bit(draft, true, plan.load.dtype);
    } else if (type != "full") {
        reader.refuse("training.training_type", fmt::format("'{}' is not supported", type), "lora, full");
    }
    plan.training.per_device_train_batch_size = reader.integer_or("training.batch_size", 2, {.low = 1});
    plan.training.gradient_accumulation_steps =
        reader.integer_or("training.gradient_accumulation_steps", 4, {.low = 1, .high = 10'000});
    const std::string checkpointing = reader.text_or("training.gradient_checkpointing", "unsloth");
    plan.training.gradient_checkpointing =
        checkpointing != "none" && checkpointing != "false" && checkpointing != "False";
    read_optimizer(reader, "training.optim", "adamw_8bit", draft);
    require_input_grads(draft);
    draft.length_limit = reader.integer_or("training.max_seq_length", 2048, {.low = 1});
    draft.length_key = "training.max_seq_length";
    draft.length_place = reader.place("training.max_seq_length");
    draft.packed = reader.boolean_or("training.packing", false);
    draft.no_padding_mask = true;
    UnslothDraft& unsloth = draft.unsloth.emplace();
    read_unsloth_checkpointing(checkpointing, unsloth);
    unsloth.plan.max_seq_length = draft.length_limit;
    if (plan.load.quantization)
        read_unsloth_checkpoint(reader.text("model").value_or(""), reader.question().environment, unsloth);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat unsloth_studio_entry;
const TrainerFormat unsloth_studio_entry = {
    .name = "unsloth-studio",
    .title = "Unsloth Studio 2026.10",
    .summary = "YAML of Unsloth Studio",
    .stack = "unsloth-2026.10",
    .order = 40,
    .recognises = trainers::is_unsloth_studio,
    .keys = trainers::kStudioTables,
    .releases = "Unsloth Studio up to 2026.10",
    .model = [](trainers::Reader& reader) { return unpacked_name(reader.text("model").value_or("")); },
    .read = trainers::read_unsloth_studio,
    .knobs = {.batch = "training.batch_size",
              .accumulation = "training.gradient_accumulation_steps",
              .rank = "lora.lora_r",
              .checkpointing = "training.gradient_checkpointing=unsloth",
              .optimizer = "training.optim=paged_adamw_8bit",
              .unpacked = "training.packing=false",
              .quantize = "training.load_in_4bit=true",
              .lora = "training.training_type=lora training.load_in_4bit=false",
              .qlora = "training.training_type=lora training.load_in_4bit=true"},
};

}  // namespace vramfit::trainer_formats
