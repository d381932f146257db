// LitGPT: YAML of `litgpt finetune_lora` and `litgpt finetune_full`.
#include <tuple>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kLitKeys[] = {
    {"checkpoint_dir", KeyUse::used, "model",
     "checkpoints/meta-llama/Llama-3.2-1B|checkpoints/meta-llama/Llama-3.2-3B"},
    {"model_name", KeyUse::used, "model", "llama-3.2-1b|llama-3.2-3b"},
    {"precision", KeyUse::used, "load.dtype", "bf16-true|32-true"},
    {"quantize", KeyUse::used, "load.quantization_config", "bnb.nf4|bnb.nf4-dq"},
    {"devices", KeyUse::used, "gpus", "1|2"},
    {"num_nodes", KeyUse::used, "gpus", "1|2"},
    {"lora_r", KeyUse::used, "peft.r", "8|16"},
    {"lora_alpha", KeyUse::used, "peft.lora_alpha", "8|16"},
    {"lora_dropout", KeyUse::used, "peft.lora_dropout", "0.1|0"},
    {"lora_query", KeyUse::used, "peft.target_modules", "true|false"},
    {"lora_key", KeyUse::used, "peft.target_modules", "true|false"},
    {"lora_value", KeyUse::used, "peft.target_modules", "true|false"},
    {"lora_projection", KeyUse::used, "peft.target_modules", "true|false"},
    {"lora_mlp", KeyUse::used, "peft.target_modules", "true|false"},
    {"lora_head", KeyUse::used, "peft.target_modules", "true|false"},
    {"train.micro_batch_size", KeyUse::used, "training.per_device_train_batch_size", "2|4"},
    {"train.global_batch_size", KeyUse::used, "training.gradient_accumulation_steps", "16|32"},
    {"train.max_seq_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"train.max_norm", KeyUse::used, "training.max_grad_norm", "1|2"},
    {"optimizer", KeyUse::used, "training.optim", "AdamW|SGD"},
    {"optimizer.class_path", KeyUse::used, "training.optim", "torch.optim.AdamW|torch.optim.SGD"},
    {"train.tie_embeddings", KeyUse::used, "model.tie_word_embeddings", "true|false"},
    {"model_config.n_layer", KeyUse::used, "model", "4|6"},
    {"model_config.n_head", KeyUse::used, "model", "6|12"},
    {"model_config.n_embd", KeyUse::used, "model", "288|576"},
    {"model_config.head_size", KeyUse::used, "model", "48|64"},
    {"model_config.n_query_groups", KeyUse::used, "model", "2|3"},
    {"model_config.intermediate_size", KeyUse::used, "model", "768|512"},
    {"model_config.padded_vocab_size", KeyUse::used, "model", "32000|32064"},
    {"model_config.block_size", KeyUse::used, "model", "256|512"},
    {"model_config.norm_class_name", KeyUse::used, "model", "RMSNorm|LayerNorm"},
    {"model_config.mlp_class_name", KeyUse::used, "model", "LLaMAMLP|GptNeoxMLP"},
    {"model_config.bias", KeyUse::used, "model", "true|false"},
    {"model_config.parallel_residual", KeyUse::used, "model", "true|false"},
    {"model_config.rotary_percentage", KeyUse::used, "model", "1.0|0.25"},
    {"model_config.scale_embeddings", KeyUse::used, "model", "true|false"},
    {"model_config.name", KeyUse::harmless},
    {"model_config.hf_config", KeyUse::harmless},
    {"model_config.vocab_size", KeyUse::used, "model", "32000|64000"},
    {"model_config.padding_multiple", KeyUse::used, "model", "512|64"},
    {"model_config.norm_eps", KeyUse::harmless},
    {"model_config.rope_base", KeyUse::harmless},
    {"train.*", KeyUse::harmless},
    {"eval.*", KeyUse::harmless},
    {"eval", KeyUse::harmless},
    {"optimizer.init_args", KeyUse::harmless},
    {"model_config.*", KeyUse::unsupported, "this part of a network given by hand is not predicted"},
    {"initial_checkpoint_dir", KeyUse::harmless},
};

constexpr std::string_view kLitHarmless[] = {"out_dir",       "data",         "logger_name", "seed",         "resume",
                                             "tokenizer_dir", "access_token", "log",         "quantize_base"};

constexpr auto kLitHarmlessRows = harmless_rows(kLitHarmless);
constexpr std::span<const KeyRow> kLitTables[] = {kLitKeys, kLitHarmlessRows};

bool is_litgpt(const Document& document) {
    const Value& root = document.root;
    const bool start = root.find("checkpoint_dir") || root.find("model_name") || root.find("model_config");
    return start && root.find("train") && root.find("eval") && (root.find("precision") || root.find("lora_r"));
}

std::string lit_model(Reader& reader) {
    std::string path = reader.text("checkpoint_dir").value_or("");
    if (path.empty()) return reader.text("model_name").value_or("");
    const std::size_t slash = path.rfind('/');
    const std::size_t before = slash == 0 || slash == path.npos ? path.npos : path.rfind('/', slash - 1);
    return before == path.npos ? path : path.substr(before + 1);
}

bool describes_network(Reader& reader) {
    const Value* given = reader.value("model_config");
    return given && given->kind == Value::Kind::map && !given->keys.empty();
}

/// litgpt/config.py, Config: with RMSNorm, LLaMAMLP and no biases the network is Llama's.
void refuse_other_networks(Reader& reader) {
    if (!describes_network(reader)) return;
    for (const auto& [key, value, otherwise] : {std::tuple{"model_config.norm_class_name", "RMSNorm", "LayerNorm"},
                                                std::tuple{"model_config.mlp_class_name", "LLaMAMLP", "GptNeoxMLP"},
                                                std::tuple{"model_config.bias", "false", "true"},
                                                std::tuple{"model_config.parallel_residual", "false", "true"},
                                                std::tuple{"model_config.scale_embeddings", "false", "false"}}) {
        const Value* found = reader.value(key);
        const std::string is = found ? written(*found) : otherwise;
        if (is != value)
            reader.refuse(found ? key : "model_config", fmt::format("a network with {} is not predicted", is),
                          "predicted: RMSNorm, LLaMAMLP, bias: false, parallel_residual: false");
    }
    if (reader.real("model_config.rotary_percentage").value_or(0.25) != 1.0)
        reader.refuse("model_config", "a network with rotary_percentage below 1 is not predicted");
}

/// The text of a config.json for a network given by hand; nothing for one by name.
std::string lit_network(Reader& reader) {
    if (!describes_network(reader)) return {};
    const std::int64_t heads = reader.integer("model_config.n_head", {.low = 1}).value_or(32);
    const std::int64_t width = reader.integer("model_config.n_embd", {.low = 1}).value_or(4096);
    const std::int64_t rows = reader.integer("model_config.vocab_size", {.low = 1}).value_or(50254);
    const std::int64_t unit = reader.integer("model_config.padding_multiple", {.low = 1}).value_or(512);
    const std::int64_t padded = (rows + unit - 1) / unit * unit;
    const std::int64_t own = reader.integer("model_config.head_size", {.low = 1}).value_or(width / heads);
    return fmt::format(
        R"({{"model_type": "llama", "hidden_size": {}, "num_attention_heads": {}, "head_dim": {}, )"
        R"("num_key_value_heads": {}, "num_hidden_layers": {}, "intermediate_size": {}, "vocab_size": {}, )"
        R"("max_position_embeddings": {}}})",
        width, heads, own, reader.integer("model_config.n_query_groups", {.low = 1}).value_or(heads),
        reader.integer("model_config.n_layer", {.low = 1}).value_or(16),
        reader.integer("model_config.intermediate_size", {.low = 1}).value_or(4 * width),
        reader.integer("model_config.padded_vocab_size", {.low = 1}).value_or(padded),
        reader.integer("model_config.block_size", {.low = 1}).value_or(4096));
}

void read_lit_precision(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const std::string precision = reader.text_or("precision", "bf16-mixed");
    plan.training.bf16 = precision == "bf16-mixed";
    plan.training.fp16 = precision == "16-mixed";
    if (precision == "bf16-true")
        plan.load.dtype = DType::bfloat16;
    else if (precision == "16-true")
        plan.load.dtype = DType::float16;
    else if (precision == "32-true" || plan.training.bf16 || plan.training.fp16)
        plan.load.dtype = DType::float32;
    else
        reader.refuse("precision", fmt::format("the precision '{}' is not supported", precision));
}

void read_lit_lora(Reader& reader, Draft& draft) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("lora_r", 8, {.low = 1});
    lora.lora_alpha = reader.real_or("lora_alpha", 16);
    lora.lora_dropout = reader.real_or("lora_dropout", 0.05);
    std::vector<std::string> names;
    if (reader.boolean_or("lora_query", true)) names.emplace_back("q_proj");
    if (reader.boolean_or("lora_key", false)) names.emplace_back("k_proj");
    if (reader.boolean_or("lora_value", true)) names.emplace_back("v_proj");
    if (reader.boolean_or("lora_projection", false)) names.emplace_back("o_proj");
    if (reader.boolean_or("lora_mlp", false))
        for (const char* name : {"gate_proj", "up_proj", "down_proj"}) names.emplace_back(name);
    if (reader.boolean_or("lora_head", false)) names.emplace_back("lm_head");
    lora.target_modules = names;
    draft.job.plan.load.cast_after_adapter = draft.job.plan.load.dtype;
    const std::string quantize = reader.text("quantize").value_or("");
    if (quantize == "bnb.nf4" || quantize == "bnb.nf4-dq" || quantize == "bnb.fp4" || quantize == "bnb.fp4-dq") {
        quantize_4bit(draft, quantize.ends_with("-dq"), draft.job.plan.load.dtype);
        if (quantize.starts_with("bnb.fp4")) draft.job.plan.load.quantization->method = QuantMethod::fp4;
    } else if (!quantize.empty()) {
        reader.refuse("quantize", fmt::format("'{}' is not predicted", quantize), "bnb.nf4, bnb.nf4-dq, bnb.fp4");
    }
}

// litgpt/finetune/{lora,full}.py, LitGPT 0.5.13.
void read_litgpt(Reader& reader, Draft& draft) {
    draft.training_read = true;
    TrainingPlan& training = draft.job.plan.training;
    refuse_other_networks(reader);
    if (reader.boolean("train.tie_embeddings").value_or(false)) draft.job.model.tie_word_embeddings = true;
    read_lit_precision(reader, draft);
    if (reader.has("lora_r")) read_lit_lora(reader, draft);
    const Value* devices = reader.value("devices");
    const std::int64_t cards = devices && devices->text == "auto" ? 1 : reader.integer_or("devices", 1, {.low = 1});
    draft.gpus = cards * reader.integer_or("num_nodes", 1, {.low = 1});
    draft.gpus_key = "devices";
    draft.gpus_place = reader.place("devices");
    training.per_device_train_batch_size = reader.integer_or("train.micro_batch_size", 1, {.low = 1});
    const std::int64_t whole = reader.integer_or("train.global_batch_size", 16, {.low = 1});
    training.gradient_accumulation_steps =
        std::max<std::int64_t>(whole / cards / training.per_device_train_batch_size, 1);
    training.max_grad_norm = reader.real_or("train.max_norm", 0);
    draft.length_limit = reader.integer("train.max_seq_length", {.low = 1}).value_or(0);
    draft.length_key = "train.max_seq_length";
    draft.length_place = reader.place("train.max_seq_length");
    draft.no_padding_mask = true;
    const Value* by_name = reader.value("optimizer");
    const bool nested = by_name && by_name->kind == Value::Kind::map;
    const char* key = nested ? "optimizer.class_path" : "optimizer";
    const std::string name = reader.text_or(key, "AdamW");
    if (name == "AdamW" || name == "torch.optim.AdamW")
        training.optim = "adamw_torch";
    else if (name == "SGD" || name == "torch.optim.SGD")
        training.optim = "sgd";
    else if (name == "bitsandbytes.optim.PagedAdamW")
        training.optim = "paged_adamw_32bit";
    else if (name == "bitsandbytes.optim.PagedAdamW8bit")
        training.optim = "paged_adamw_8bit";
    else
        reader.refuse(key, fmt::format("the optimizer {} is not predicted", name));
    reader.note(RemarkKind::other_program,
                "LitGPT has network code of its own: the same network with the same adapters, dtypes and optimizer is "
                "predicted as transformers runs it, with whole logits where LitGPT takes them in chunks",
                "weights, gradients and optimizer states are the same; activations and logits are not exact");
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat litgpt_entry;
const TrainerFormat litgpt_entry = {
    .name = "litgpt",
    .title = "LitGPT 0.5",
    .summary = "YAML of litgpt finetune",
    .order = 30,
    .recognises = trainers::is_litgpt,
    .keys = trainers::kLitTables,
    .releases = "LitGPT up to 0.5.13",
    .model = trainers::lit_model,
    .network = trainers::lit_network,
    .read = trainers::read_litgpt,
    .knobs = {.batch = "train.micro_batch_size",
              .whole_batch = "train.global_batch_size",
              .rank = "lora_r",
              .optimizer = "optimizer.class_path|optimizer=bitsandbytes.optim.PagedAdamW8bit",
              .double_quant = "quantize=bnb.nf4-dq",
              .bfloat16 = "precision=bf16-true",
              .quantize = "quantize=bnb.nf4-dq"},
};

}  // namespace vramfit::trainer_formats
