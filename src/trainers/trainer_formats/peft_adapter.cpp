// PEFT: adapter_config.json, alone or beside a trainer's file.
#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "trainers/adapter_kinds.hpp"
#include "trainers/common.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kPeftKeys[] = {
    {"base_model_name_or_path", KeyUse::used, "model", "llama-3.2-1b|llama-3.2-3b"},
    {"peft_type", KeyUse::used, "peft", "LORA|LOHA"},
    {"r", KeyUse::used, "peft.r", "8|16"},
    {"lora_alpha", KeyUse::used, "peft.lora_alpha", "8|16"},
    {"lora_dropout", KeyUse::used, "peft.lora_dropout", "0.1|0"},
    {"target_modules", KeyUse::used, "peft.target_modules", "[q_proj]|[q_proj, k_proj]"},
    {"target_parameters", KeyUse::used, "peft.target_parameters", "[mlp.experts.gate_up_proj]|[]"},
    {"modules_to_save", KeyUse::used, "peft.modules_to_save", "[lm_head]|[embed_tokens]"},
    {"layers_to_transform", KeyUse::used, "peft.layers_to_transform", "[0]|[0, 1]"},
    {"use_dora", KeyUse::used, "peft.use_dora", "true|false"},
    {"use_rslora", KeyUse::used, "peft.use_rslora", "true|false"},
    {"bias", KeyUse::used, "peft.bias", "none|all"},
    {"lora_bias", KeyUse::used, "peft.lora_bias", "true|false"},
    {"fan_in_fan_out", KeyUse::used, "peft.fan_in_fan_out", "true|false"},
    {"task_type", KeyUse::unsupported, "another task needs another head", "CAUSAL_LM"},
    {"exclude_modules", KeyUse::unsupported, "left-out modules are not predicted"},
    {"rank_pattern", KeyUse::unsupported, "ranks by module are not predicted"},
    {"layer_replication", KeyUse::unsupported, "repeated layers are not predicted"},
    {"megatron_config", KeyUse::unsupported, "Megatron is not predicted"},
    {"trainable_token_indices", KeyUse::used, "peft.trainable_token_indices", "[1, 2]|[]"},
    {"eva_config", KeyUse::unsupported, "EVA is not predicted"},
    {"corda_config", KeyUse::unsupported, "CorDA is not predicted"},
    {"use_qalora", KeyUse::unsupported, "QALoRA is not predicted"},
    {"alora_invocation_tokens", KeyUse::unsupported, "aLoRA is not predicted"},
    {"arrow_config", KeyUse::unsupported, "Arrow is not predicted"},
    {"kasa_config", KeyUse::used, "peft.kasa_config"},
    {"velora_config", KeyUse::unsupported, "VeLoRA is not predicted"},
    {"monteclora_config", KeyUse::unsupported, "MonteCLoRA is not predicted"},
    {"use_bdlora", KeyUse::used, "peft.use_bdlora"},
    {"use_bdlora.target_modules_bd_a", KeyUse::used, "peft.use_bdlora"},
    {"use_bdlora.target_modules_bd_b", KeyUse::used, "peft.use_bdlora"},
    {"use_bdlora.nblocks", KeyUse::used, "peft.use_bdlora"},
    {"use_bdlora.match_strict", KeyUse::used, "peft.use_bdlora"},
    {"lora_ga_config", KeyUse::unsupported, "LoRA-GA needs memory before training that is not predicted"},
    {"kappa_tune", KeyUse::unsupported, "KappaTune is not predicted"},
    {"loftq_config", KeyUse::unsupported, "LoftQ needs memory while loading that is not predicted"},
    {"ensure_weight_tying", KeyUse::unsupported, "adapters of tied weights are not predicted"},
    {"runtime_config.ephemeral_gpu_offload", KeyUse::unsupported, "DoRA over offloaded weights is not predicted"},
    {"init_lora_weights", KeyUse::unsupported, "this initialization needs memory while loading that is not predicted",
     "true|gaussian|orthogonal"},
};

constexpr std::string_view kPeftHarmless[] = {
    "auto_mapping",  "inference_mode", "revision",          "peft_version",     "layers_pattern",
    "alpha_pattern", "megatron_core",  "qalora_group_size", "kasa_config.beta", "kasa_config.gamma",
};

constexpr auto kPeftHarmlessRows = harmless_rows(kPeftHarmless);
constexpr std::span<const KeyRow> kPeftTables[] = {kPeftKeys, kPeftHarmlessRows};

bool is_peft_adapter(const Document& document) {
    return document.syntax == Syntax::json && document.root.find("peft_type") != nullptr;
}

/// Other tuners have keys of their own.
bool is_lora(const Document& document) {
    const Value* type = document.root.find("peft_type");
    return type && type->text == "LORA";
}

void read_peft_layers(Reader& reader, LoraPlan& lora) {
    const Value* layers = reader.value("layers_to_transform");
    if (!layers) return;
    auto& numbers = lora.layers_to_transform.emplace();
    if (layers->kind == Value::Kind::integer) numbers.push_back(layers->integer);
    for (const Value& item : layers->items) {
        if (item.kind != Value::Kind::integer)
            return reader.invalid("layers_to_transform", fmt::format("{} is no layer", item.shown()));
        numbers.push_back(item.integer);
    }
    (void)reader.texts("layers_to_transform");
}

/// BdLoraConfig, KasaConfig.
void read_variants(Reader& reader, LoraPlan& lora) {
    lora.kasa = reader.has("kasa_config");
    if (!reader.has("use_bdlora")) return;
    BlockDiagonal& blocks = lora.block_diagonal.emplace();
    blocks.of_a = reader.texts("use_bdlora.target_modules_bd_a").value_or(std::vector<std::string>());
    blocks.of_b = reader.texts("use_bdlora.target_modules_bd_b").value_or(std::vector<std::string>());
    blocks.blocks = reader.integer_or("use_bdlora.nblocks", 1, {.low = 1});
    blocks.strict = reader.boolean("use_bdlora.match_strict").value_or(true);
}

/// from_pretrained without device_map, and Trainer: the only way in which such adapters are predicted.
void load_in_host_memory(Reader& reader, Draft& draft) {
    if (!draft.job.plan.peft || !takes_weights_apart(*draft.job.plan.peft)) return;
    draft.job.plan.load.on_device = false;
    draft.job.plan.load.moved_by_trainer = true;
    reader.note(RemarkKind::odd_value,
                fmt::format("{} takes apart the layers' weights: the network is taken as loaded in host memory, as "
                            "from_pretrained does without device_map, and moved by Trainer",
                            title_of(*draft.job.plan.peft)),
                "on a GPU the scratch of cuSOLVER is not predicted");
}

/// Where the file is alone.
void take_defaults(Reader& reader, Draft& draft) {
    if (draft.training_read) return;
    load_in_host_memory(reader, draft);
    draft.job.plan.training.per_device_train_batch_size = 8;  // transformers' default
    draft.job.plan.training.optim = default_optimizer(reader.stack());
    reader.note(RemarkKind::odd_value,
                "the file describes an adapter alone: transformers' defaults are taken for the rest",
                "give the trainer's file too");
}

// peft 0.21.2, tuners/lora/config.py.
void read_peft_adapter(Reader& reader, Draft& draft) {
    const std::string type = reader.text("peft_type").value_or("");
    if (type != "LORA") {
        // This key says enough of another tuner.
        std::erase_if(reader.reading().notes,
                      [](const ReadingNote& note) { return note.kind == RemarkKind::unknown_key; });
        // Those it reads itself, where it has them.
        std::erase_if(reader.reading().refusals, [](const Refusal& refusal) {
            return refusal.key == "rank_pattern" || refusal.key == "exclude_modules";
        });
        read_other_adapter(reader, "", type, draft);
        return take_defaults(reader, draft);
    }
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("r", 8, {.low = 1});
    lora.lora_alpha = reader.real_or("lora_alpha", 8);
    lora.lora_dropout = reader.real_or("lora_dropout", 0);
    const Value* targets = reader.value("target_modules");
    const bool pattern = is_pattern(targets);
    set_targets(
        reader, "target_modules",
        pattern ? std::vector<std::string>{"*"} : reader.texts("target_modules").value_or(std::vector<std::string>()),
        draft);
    lora.target_parameters = reader.texts("target_parameters").value_or(std::vector<std::string>());
    lora.modules_to_save = reader.texts("modules_to_save").value_or(std::vector<std::string>());
    read_trained_tokens(reader, "trainable_token_indices", lora);
    read_peft_layers(reader, lora);
    lora.use_dora = reader.boolean("use_dora").value_or(false);
    lora.use_rslora = reader.boolean("use_rslora").value_or(false);
    constexpr Named<LoraBias> kBiases[] = {
        {"none", LoraBias::none}, {"all", LoraBias::all}, {"lora_only", LoraBias::lora_only}};
    if (const auto bias = choice<LoraBias>(reader, "bias", kBiases)) lora.bias = *bias;
    lora.lora_bias = reader.boolean("lora_bias").value_or(false);
    read_variants(reader, lora);
    lora.fan_in_fan_out = reader.boolean("fan_in_fan_out").value_or(false);
    take_defaults(reader, draft);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat peft_adapter_entry;
const TrainerFormat peft_adapter_entry = {
    .name = "peft-adapter",
    .title = "PEFT 0.21",
    .summary = "adapter_config.json",
    .order = 1,
    .part = TrainerPart::adapter,
    .recognises = trainers::is_peft_adapter,
    .keys = trainers::kPeftTables,
    .releases = "PEFT up to 0.21",
    .is_of_release = trainers::is_lora,
    .model = [](trainers::Reader& reader) { return reader.text("base_model_name_or_path").value_or(""); },
    .read = trainers::read_peft_adapter,
};

}  // namespace vramfit::trainer_formats
