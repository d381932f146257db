// Unsloth: Python scripts and notebooks with FastLanguageModel.
#include <algorithm>

#include <fmt/format.h>

#include "spec/unsloth_copies.hpp"
#include "trainers/common.hpp"
#include "trainers/scripts.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/unsloth.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kUnslothKeys[] = {
    {"from_pretrained.model_name", KeyUse::used, "model", "llama-3.2-1b|llama-3.2-3b"},
    {"from_pretrained.max_seq_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"from_pretrained.dtype", KeyUse::used, "load.dtype", "float16|bfloat16"},
    {"from_pretrained.load_in_4bit", KeyUse::used, "load.quantization_config", "true|false"},
    {"from_pretrained.load_in_8bit", KeyUse::used, "load.quantization_config", "true|false"},
    {"from_pretrained.load_in_16bit", KeyUse::used, "load.quantization_config", "true|false"},
    {"from_pretrained.full_finetuning", KeyUse::used, "peft", "true|false"},
    {"from_pretrained.use_gradient_checkpointing", KeyUse::used, "training.gradient_checkpointing"},
    {"get_peft_model.r", KeyUse::used, "peft.r", "8|16"},
    {"get_peft_model.lora_alpha", KeyUse::used, "peft.lora_alpha", "8|16"},
    {"get_peft_model.lora_dropout", KeyUse::used, "peft.lora_dropout", "0.1|0"},
    {"get_peft_model.target_modules", KeyUse::used, "peft.target_modules", "[q_proj]|[q_proj, k_proj]"},
    {"get_peft_model.modules_to_save", KeyUse::used, "peft.modules_to_save", "[lm_head]|[embed_tokens]"},
    {"get_peft_model.use_rslora", KeyUse::used, "peft.use_rslora", "true|false"},
    {"get_peft_model.bias", KeyUse::used, "peft.bias"},
    {"get_peft_model.use_gradient_checkpointing", KeyUse::used, "training.gradient_checkpointing"},
    {"get_peft_model.finetune_language_layers", KeyUse::used, "peft.target_modules", "true|false"},
    {"get_peft_model.finetune_attention_modules", KeyUse::used, "peft.target_modules", "true|false"},
    {"get_peft_model.finetune_mlp_modules", KeyUse::used, "peft.target_modules", "true|false"},
    {"get_peft_model.layers_to_transform", KeyUse::unsupported, "adapters in some layers only are not predicted"},
    {"get_peft_model.finetune_last_n_layers", KeyUse::unsupported, "adapters in some layers only are not predicted"},
    {"get_peft_model.target_parameters", KeyUse::unsupported, "adapters of experts are not predicted for Unsloth"},
    {"get_peft_model.qat_scheme", KeyUse::unsupported, "training that is aware of quantization is not predicted"},
    {"get_peft_model.offload_layers", KeyUse::unsupported, "layers in host memory are not predicted"},
    {"get_peft_model.use_dora", KeyUse::unsupported, "DoRA is not predicted for Unsloth"},
    {"from_pretrained.qat_scheme", KeyUse::unsupported, "training that is aware of quantization is not predicted"},
    {"from_pretrained.load_in_fp8", KeyUse::unsupported, "fp8 is not predicted"},
    {"from_pretrained.fast_inference", KeyUse::unsupported, "vLLM on the same GPU is not predicted"},
    {"from_pretrained.device_map", KeyUse::unsupported, "a device map is not predicted", "auto|sequential|cuda:0|cuda"},
    {"from_pretrained.num_labels", KeyUse::unsupported, "another task needs another head"},
    {"from_pretrained.rope_scaling", KeyUse::harmless},
    {"from_pretrained.text_only", KeyUse::used, "load", ""},  // of models that take images
};

constexpr std::string_view kUnslothHarmless[] = {
    "from_pretrained.token",
    "from_pretrained.trust_remote_code",
    "from_pretrained.fix_tokenizer",
    "from_pretrained.revision",
    "from_pretrained.use_exact_model_name",
    "from_pretrained.offload_embedding",
    "from_pretrained.float32_mixed_precision",
    "from_pretrained.gpu_memory_utilization",
    "from_pretrained.max_lora_rank",
    "from_pretrained.random_state",
    "from_pretrained.disable_log_stats",
    "from_pretrained.cache_dir",
    "from_pretrained.local_files_only",
    "from_pretrained.attn_implementation",
    "get_peft_model.random_state",
    "get_peft_model.max_seq_length",
    "get_peft_model.init_lora_weights",
    "get_peft_model.loftq_config",
    "get_peft_model.finetune_vision_layers",
    "get_peft_model.layers_pattern",
    "get_peft_model.temporary_location",
    "get_peft_model.ensure_weight_tying",
    "get_peft_model.task_type",
};
constexpr auto kUnslothHarmlessRows = harmless_rows(kUnslothHarmless);
constexpr auto kUnslothSftRows = harmless_rows(kIgnoredSftArguments);
constexpr KeyRow kUnslothSft[] = {
    {"max_seq_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"max_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"packing", KeyUse::used, "batch", "true|false"},
    {"padding_free", KeyUse::used, "batch"},
    {"embedding_learning_rate", KeyUse::used, "unsloth.embedding_learning_rate", ""},
    {"pad_to_multiple_of", KeyUse::harmless},
    {"activation_offloading", KeyUse::unsupported, "activations in host memory are not predicted"},
};
const std::span<const KeyRow> kUnslothTables[] = {kUnslothKeys,       kUnslothHarmlessRows, kUnslothSft,
                                                  kScriptKeys,        kScriptHarmless,      kTrainingArguments,
                                                  kHarmlessArguments, kUnslothSftRows};

/// finetune_* of FastModel: all modules of the kinds that are on (unsloth/models/vision.py get_peft_model).
std::vector<std::string> unsloth_targets(Reader& reader) {
    if (reader.has("get_peft_model.target_modules"))
        return reader.texts("get_peft_model.target_modules").value_or(std::vector<std::string>());
    const bool attention = reader.boolean("get_peft_model.finetune_attention_modules").value_or(true);
    const bool mlp = reader.boolean("get_peft_model.finetune_mlp_modules").value_or(true);
    const bool language = reader.boolean("get_peft_model.finetune_language_layers").value_or(true);
    if (!language || !(attention || mlp))
        reader.refuse(language ? "get_peft_model.finetune_mlp_modules" : "get_peft_model.finetune_language_layers",
                      "without adapters in the language layers nothing of what is predicted is trained");
    if (attention && mlp) return {"all-linear"};
    if (attention) return {"q_proj", "k_proj", "v_proj", "o_proj"};
    return {"gate_proj", "up_proj", "down_proj"};
}

/// models/_utils.py _redirect_embedding_targets: an embedding and a head among the targets are trained whole.
std::vector<std::string> without_ends(const std::vector<std::string>& targets, std::vector<std::string>& saved) {
    std::vector<std::string> out;
    for (const std::string& target : targets) {
        if (!is_end_of_network(target))
            out.push_back(target);
        else if (std::find(saved.begin(), saved.end(), target) == saved.end())
            saved.push_back(target);
    }
    return out;
}

// unsloth 2026.10.7, models/llama.py get_peft_model.
void read_unsloth_adapter(Reader& reader, Draft& draft) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("get_peft_model.r", 16, {.low = 1});
    lora.lora_alpha = reader.real_or("get_peft_model.lora_alpha", 16);
    lora.lora_dropout = reader.real_or("get_peft_model.lora_dropout", 0);
    lora.modules_to_save = reader.texts("get_peft_model.modules_to_save").value_or(std::vector<std::string>());
    set_targets(reader, "get_peft_model.target_modules", without_ends(unsloth_targets(reader), lora.modules_to_save),
                draft);
    lora.use_rslora = reader.boolean("get_peft_model.use_rslora").value_or(false);
    constexpr Named<LoraBias> kBiases[] = {
        {"none", LoraBias::none}, {"all", LoraBias::all}, {"lora_only", LoraBias::lora_only}};
    if (const auto bias = choice<LoraBias>(reader, "get_peft_model.bias", kBiases)) lora.bias = *bias;
}

// unsloth 2026.10.7, models/loader.py FastLanguageModel.from_pretrained.
void read_unsloth_loading(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    if (const Value* loading = reader.value("from_pretrained"); loading && loading->kind != Value::Kind::map)
        (void)reader.text("from_pretrained");
    const std::string loader = reader.text("loader").value_or("FastLanguageModel");
    if (loader != "FastLanguageModel" && loader != "FastModel" && loader != "FastLlamaModel")
        reader.refuse("loader", fmt::format("what {} loads is not predicted", loader), "FastLanguageModel, FastModel");
    plan.load.dtype = reader.has("from_pretrained.dtype")
                          ? read_dtype(reader, "from_pretrained.dtype", draft).value_or(DType::bfloat16)
                          : (reader.question().bf16_card ? DType::bfloat16 : DType::float16);
    if (reader.has("get_peft_model")) read_unsloth_adapter(reader, draft);
    const bool full = reader.boolean("from_pretrained.full_finetuning").value_or(false);
    if (full) plan.peft.reset();  // get_peft_model has no effect then
    const bool eight = reader.boolean("from_pretrained.load_in_8bit").value_or(false);
    const bool sixteen = reader.boolean("from_pretrained.load_in_16bit").value_or(false);
    if (!full && eight)
        quantize_8bit(draft);
    else if (!full && !sixteen && reader.boolean_or("from_pretrained.load_in_4bit", true))
        quantize_4bit(draft, true, plan.load.dtype);
}

/// rl.py: what the configuration asks for is cut to what the network was loaded for.
void read_unsloth_rows(Reader& reader, Draft& draft) {
    std::string key = "from_pretrained.max_seq_length";
    std::int64_t limit = reader.integer_or(key, 2048, {.low = 1});
    for (const char* each : {"max_seq_length", "trainer.max_seq_length", "max_length"}) {
        const auto asked = reader.integer(each, {.low = 1});
        if (!asked || *asked >= limit) continue;
        limit = *asked;
        key = each;
        break;
    }
    draft.length_limit = limit;
    draft.length_key = key;
    draft.length_place = reader.place(key);
    draft.packed = reader.boolean(reader.has("packing") ? "packing" : "trainer.packing").value_or(false);
    draft.no_padding_mask = true;
}

/// What a script says in its own words, and what Unsloth then does that was not compared.
constexpr std::pair<const char*, const char*> kInexactKeys[] = {
    {"trainer.compute_metrics", "measures of the logits are not supported with Unsloth's step"},
    {"trainer.preprocess_logits_for_metrics", "measures of the logits are not supported with Unsloth's step"},
    {"Trainer", "another trainer than SFTTrainer is not compared"},
    {"prepare_model_for_kbit_training", "peft's preparation is not supported with Unsloth's step"},
    {"gradient_checkpointing_enable", "checkpointing by the script is not supported with Unsloth's step"},
    {"enable_input_require_grads", "hooks of the script are not supported with Unsloth's step"},
    {"resize_token_embeddings", "a changed embedding is not supported with Unsloth's step"},
    {"from_pretrained.attn_implementation", "a choice of the attention is not supported with Unsloth's step"},
    {"from_pretrained.rope_scaling", "other rotary embeddings are not supported with Unsloth's step"},
    {"get_peft_model.loftq_config", "LoftQ is not supported with Unsloth's step"},
};

bool is_said(Reader& reader, const char* key) {
    const Value* value = reader.document().root.at(key);
    return value && value->kind != Value::Kind::null && !(value->kind == Value::Kind::map && value->keys.empty());
}

// unsloth 2026.10.7, trainer.py _patch_sft_trainer_auto_packing: a collator of the script's own pads rows.
void read_unsloth_collator(Reader& reader, UnslothDraft& unsloth) {
    const Value* collator = reader.document().root.at("trainer.data_collator");
    const bool given = is_said(reader, "trainer.data_collator") || (collator && collator->kind == Value::Kind::map);
    unsloth.plan.padding_free = reader.boolean("padding_free").value_or(true) && !given;
    const bool is_known = !given || (collator->kind == Value::Kind::map && !collator->find("pad_to_multiple_of"));
    if (!is_known)
        unsloth.inexact.emplace_back("rows that another collator makes are not supported with Unsloth's step");
}

/// What bars Unsloth's own step, beside what a plan says.
void read_unsloth_step(Reader& reader, const std::string& checkpointing, Draft& draft) {
    UnslothDraft& unsloth = draft.unsloth.emplace();
    read_unsloth_checkpointing(checkpointing, unsloth);
    unsloth.plan.max_seq_length = reader.integer("from_pretrained.max_seq_length", {.low = 1}).value_or(2048);
    unsloth.plan.embedding_learning_rate = reader.real("embedding_learning_rate");
    const auto bar_if = [&](bool condition, const char* why) {
        if (condition) unsloth.inexact.emplace_back(why);
    };
    const std::string loader = reader.text("loader").value_or("FastLanguageModel");
    bar_if(loader != "FastLanguageModel", "FastModel runs other functions than FastLanguageModel");
    for (const auto& [key, why] : kInexactKeys) bar_if(is_said(reader, key), why);
    read_unsloth_collator(reader, unsloth);
    for (const char* key : {"from_pretrained.offload_embedding", "from_pretrained.float32_mixed_precision"})
        bar_if(reader.boolean(key).value_or(false), "a moved or cast model is not supported with Unsloth's step");
    const std::string init = reader.text("get_peft_model.init_lora_weights").value_or("true");
    bar_if(init != "true" && init != "True", "another initialization is not supported with Unsloth's step");
    if (draft.job.plan.load.quantization && !reader.boolean("from_pretrained.use_exact_model_name").value_or(false))
        read_unsloth_checkpoint(reader.text("from_pretrained.model_name").value_or(""), reader.question().environment,
                                unsloth);
}

void read_unsloth_script(Reader& reader, Draft& draft) {
    draft.training_read = true;
    if (!judge_script(reader)) return;
    const std::string config = reader.text("config_class").value_or("SFTConfig");
    const bool sft = config != "TrainingArguments";
    const bool bf16_card = reader.question().bf16_card;
    TrainPlan& plan = draft.job.plan;
    read_training_arguments(reader, {.batch = 8, .checkpointing = sft, .bf16 = false}, draft);
    // rl.py: a network in float16 is trained in fp16, one in bfloat16 in bf16, where neither is asked for.
    if (!plan.training.fp16 && !plan.training.bf16) (bf16_card ? plan.training.bf16 : plan.training.fp16) = true;
    // Its loss takes less than Unsloth's own may: plain transformers with it bounds nothing.
    if (plan.training.use_liger_kernel)
        reader.refuse("use_liger_kernel", "Liger's kernels beside Unsloth's own are not predicted", "leave it out");
    read_unsloth_loading(reader, draft);
    const bool adapted = plan.peft.has_value();
    const std::string checkpointing =
        reader
            .text(adapted ? "get_peft_model.use_gradient_checkpointing" : "from_pretrained.use_gradient_checkpointing")
            .value_or("unsloth");
    const bool kept = checkpointing != "false" && checkpointing != "False" && checkpointing != "none";
    plan.training.gradient_checkpointing = plan.training.gradient_checkpointing || kept;
    require_input_grads(draft);
    read_unsloth_rows(reader, draft);
    read_ddp(reader, draft);
    read_unsloth_step(reader, checkpointing, draft);
}

std::string unsloth_model(Reader& reader) {
    for (const char* key : {"from_pretrained.model_name", "model"})
        if (reader.has(key)) return unpacked_name(reader.text(key).value_or(""));
    return "";
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat unsloth_script_entry;
const TrainerFormat unsloth_script_entry = {
    .name = "unsloth-script",
    .title = "Unsloth 2026.10",
    .summary = "Python scripts and notebooks with FastLanguageModel or FastModel",
    .stack = "unsloth-2026.10",
    .order = 2,
    .recognises = trainers::is_unsloth,
    .keys = trainers::kUnslothTables,
    .model = trainers::unsloth_model,
    .read = trainers::read_unsloth_script,
    .knobs = {.batch = "per_device_train_batch_size",
              .accumulation = "gradient_accumulation_steps",
              .rank = "get_peft_model.r",
              .checkpointing = "get_peft_model.use_gradient_checkpointing=unsloth",
              .optimizer = "optim=paged_adamw_8bit",
              .unpacked = "packing=False",
              .quantize = "from_pretrained.load_in_4bit=True from_pretrained.load_in_8bit="},
};

}  // namespace vramfit::trainer_formats
