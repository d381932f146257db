// What scripts for several trainers have in common.
#include "trainers/scripts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "trainers/adapter_kinds.hpp"
#include "trainers/common.hpp"
#include "trainers/keys/scripts.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr auto kScriptHarmlessRows = harmless_rows(kScriptHarmlessNames);

/// The first of these keys that the script has, or the first.
std::string first_of(Reader& reader, std::initializer_list<const char*> keys) {
    for (const char* key : keys)
        if (reader.has(key)) return key;
    return *keys.begin();
}

void read_quantization(Reader& reader, const std::string& key, Draft& draft) {
    const Value* value = reader.value(key);
    if (!value) return;
    if (value->kind != Value::Kind::map) return (void)reader.text(key);
    const auto at = [&](const char* name) { return key + "." + name; };
    if (reader.boolean(at("load_in_4bit")).value_or(false)) {
        quantize_4bit(draft, reader.boolean(at("bnb_4bit_use_double_quant")).value_or(false), DType::float32);
        // transformers 5.17.0, utils/quantization_config.py BitsAndBytesConfig: fp4 unless said, computing in float32.
        QuantizationPlan& plan = *draft.job.plan.load.quantization;
        plan.method = QuantMethod::fp4;
        constexpr Named<QuantMethod> kTypes[] = {{"nf4", QuantMethod::nf4}, {"fp4", QuantMethod::fp4}};
        if (const auto type = choice<QuantMethod>(reader, at("bnb_4bit_quant_type"), kTypes)) plan.method = *type;
        if (const auto dtype = read_dtype(reader, at("bnb_4bit_compute_dtype"), draft)) plan.compute_dtype = *dtype;
        if (const auto storage = choice<DType>(reader, at("bnb_4bit_quant_storage"), kQuantStorages))
            plan.storage = *storage;
        if (reader.has(at("llm_int8_skip_modules")))
            reader.refuse(at("llm_int8_skip_modules"),
                          "modules that are left out of the quantization are not predicted here");
    } else if (reader.boolean(at("load_in_8bit")).value_or(false)) {
        quantize_8bit(draft);
        if (reader.has(at("llm_int8_skip_modules")))
            reader.refuse(at("llm_int8_skip_modules"),
                          "modules that are left out of the quantization are not predicted here");
    } else if (!reader.has(at("load_in_4bit")) && !reader.has(at("load_in_8bit"))) {
        reader.refuse(key, "quantizers other than bitsandbytes' are not predicted",
                      "BitsAndBytesConfig(load_in_4bit=True)");
    }
}

void read_loaded_quantization(Reader& reader, const std::string& prefix, bool by_trl, Draft& draft) {
    read_quantization(reader, prefix + ".quantization_config", draft);
    if (by_trl) read_quantization(reader, "trainer.quantization_config", draft);
    for (const char* name : {".load_in_4bit", ".load_in_8bit"}) {
        const std::string key = prefix + name;
        if (!reader.boolean(key).value_or(false)) continue;
        // transformers 5.17.0, modeling_utils.py from_pretrained has no such argument.
        if (reader.stack().transformers >= Version{5, 0, 0})
            reader.invalid(key, "from_pretrained of transformers 5 has no such argument",
                           "quantization_config=BitsAndBytesConfig(load_in_4bit=True)");
        else if (key.ends_with("4bit"))
            quantize_4bit(draft, false, DType::float32);
        else
            quantize_8bit(draft);
        if (draft.job.plan.load.quantization && key.ends_with("4bit"))
            draft.job.plan.load.quantization->method = QuantMethod::fp4;
    }
}

/// transformers: as saved from 5.0 on, float32 before, float16 where bitsandbytes quantizes (quantizer_bnb_4bit.py
/// update_torch_dtype); trl 0.29: float32 for a network that it loads itself (trainer/utils.py create_model_from_path).
DType script_dtype(Reader& reader, const std::string& prefix, bool by_trl, const Draft& draft) {
    for (const char* name : {".dtype", ".torch_dtype"})
        if (reader.has(prefix + name)) return read_dtype(reader, prefix + name, draft).value_or(DType::float32);
    const bool as_saved = reader.stack().transformers >= Version{5, 0, 0};
    const bool by_trl_itself =
        by_trl && reader.stack().trl >= Version{0, 29, 0} && !reader.document().root.at(prefix + ".dtype");
    DType dtype = DType::float32;
    if (!by_trl_itself && as_saved) dtype = draft.job.model.checkpoint_dtype.value_or(DType::float32);
    if (!by_trl_itself && !as_saved && draft.job.plan.load.quantization) dtype = DType::float16;
    reader.assume(prefix + ".dtype", std::string(name_of(dtype)));
    return dtype;
}

/// None: loaded in host memory and moved by Trainer, but for what bitsandbytes quantizes (quantizer_bnb_4bit.py
/// update_device_map). trl 0.29 gives "auto" itself.
void read_device_map(Reader& reader, const std::string& prefix, bool by_trl, Draft& draft) {
    const std::string key = prefix + ".device_map";
    const Value* value = reader.value(key);
    LoadPlan& load = draft.job.plan.load;
    if (!value) {
        load.on_device = load.quantization.has_value() || (by_trl && reader.stack().trl >= Version{0, 29, 0});
        return;
    }
    const auto several = [&] { return reader.question().gpus.value_or(1) > 1; };
    if (value->kind == Value::Kind::map) {
        const bool whole = value->keys.size() == 1 && value->keys[0].empty();
        if (!whole) return reader.refuse(key, "a network in parts on several devices is not predicted");
        const Value& device = value->items[0];
        load.on_device = device.text != "cpu" || load.quantization.has_value();
        return;
    }
    const std::string word = reader.text(key).value_or("");
    if (word == "cpu")
        load.on_device = false;
    else if ((word == "auto" || word.starts_with("balanced") || word == "sequential") && several())
        reader.refuse(key, "a network that is spread over the GPUs is not predicted",
                      "--gpus 1, or without device_map");
    else if (word == "disk" || word == "meta" || word == "mps")
        reader.refuse(key, fmt::format("the device '{}' is not predicted", word));
}

void read_script_adapter(Reader& reader, Draft& draft) {
    const Value* config = reader.value("peft_config");
    if (!config) return;
    if (config->kind != Value::Kind::map)
        return reader.invalid("peft_config", fmt::format("its value cannot be read: {}", config->text),
                              "say it: --set peft_config.r=16 and what else it has, or --set peft_config=null");
    if (const auto type = reader.text("peft_config.peft_type"); type && *type != "LORA")
        return read_other_adapter(reader, "peft_config", *type, draft);
    // peft 0.21.2, tuners/lora/config.py.
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("peft_config.r", 8, {.low = 1});
    lora.lora_alpha = reader.real_or("peft_config.lora_alpha", 8);
    lora.lora_dropout = reader.real_or("peft_config.lora_dropout", 0);
    const bool pattern = is_pattern(reader.value("peft_config.target_modules"));
    set_targets(reader, "peft_config.target_modules",
                pattern ? std::vector<std::string>{"*"}
                        : reader.texts("peft_config.target_modules").value_or(std::vector<std::string>()),
                draft);
    lora.target_parameters = reader.texts("peft_config.target_parameters").value_or(std::vector<std::string>());
    lora.modules_to_save = reader.texts("peft_config.modules_to_save").value_or(std::vector<std::string>());
    read_trained_tokens(reader, "peft_config.trainable_token_indices", lora);
    lora.use_dora = reader.boolean("peft_config.use_dora").value_or(false);
    lora.use_rslora = reader.boolean("peft_config.use_rslora").value_or(false);
    constexpr Named<LoraBias> kBiases[] = {
        {"none", LoraBias::none}, {"all", LoraBias::all}, {"lora_only", LoraBias::lora_only}};
    if (const auto bias = choice<LoraBias>(reader, "peft_config.bias", kBiases)) lora.bias = *bias;
    lora.lora_bias = reader.boolean("peft_config.lora_bias").value_or(false);
    lora.fan_in_fan_out = reader.boolean("peft_config.fan_in_fan_out").value_or(false);
}

/// What the script does with the network before the trainer has it.
void read_preparation(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const std::string prepare = "prepare_model_for_kbit_training";
    if (reader.has(prepare)) {
        PreparePlan& kbit = plan.prepare_kbit.emplace();
        kbit.use_gradient_checkpointing = reader.boolean(prepare + ".use_gradient_checkpointing").value_or(true);
        kbit.use_reentrant = reader.boolean(prepare + ".gradient_checkpointing_kwargs.use_reentrant");
        kbit.auto_clear_cache = reader.boolean(prepare + ".auto_clear_cache").value_or(true);
    }
    if (reader.has("gradient_checkpointing_enable")) {
        plan.load.gradient_checkpointing = true;
        const auto reentrant =
            reader.boolean("gradient_checkpointing_enable.gradient_checkpointing_kwargs.use_reentrant");
        if (!plan.training.use_reentrant) plan.training.use_reentrant = reentrant;
    }
    if (reader.has("enable_input_require_grads")) plan.loop.input_require_grads = true;
    if (const auto rows = reader.integer("resize_token_embeddings.new_num_tokens", {.low = 1}))
        plan.load.resize_token_embeddings = *rows;
}

}  // namespace

const std::span<const KeyRow> kScriptKeys = kScriptRows;
const std::span<const KeyRow> kScriptHarmless = kScriptHarmlessRows;

bool is_unsloth(const Document& document) {
    if (document.syntax != Syntax::python) return false;
    const Value* loader = document.root.find("loader");
    return (loader && loader->text.starts_with("Fast")) || document.root.find("get_peft_model") ||
           document.root.find("UnslothTrainer");
}

bool calls_trainer(const Document& document, std::string_view trainer) {
    const std::vector<std::string>& keys = document.root.keys;
    return document.syntax == Syntax::python && !is_unsloth(document) &&
           std::find(keys.begin(), keys.end(), trainer) != keys.end();
}

bool is_plain_trainer(const Document& document) {
    return document.syntax == Syntax::python && document.root.find("Trainer") && !is_unsloth(document);
}

bool judge_script(Reader& reader) {
    if (const Value* args = reader.value("args"); args && args->kind != Value::Kind::map)
        reader.invalid("args", fmt::format("the trainer's configuration cannot be read: {}", args->text),
                       "say it: --set args={}, and --set KEY=VALUE for each argument that is not the default; or check "
                       "the line that launches the script");
    for (const char* key : {"fsdp", "fsdp_config", "deepspeed"})
        if (const Value* value = reader.value(key); value && value->kind == Value::Kind::unread) (void)reader.text(key);
    const Stack& stack = reader.stack();
    // transformers 5.17.0, training_args.py and trainer.py have neither.
    if (stack.transformers >= Version{5, 0, 0} && reader.has("evaluation_strategy"))
        reader.invalid("evaluation_strategy", "TrainingArguments of transformers 5 have no such argument",
                       "eval_strategy");
    if (stack.transformers >= Version{5, 0, 0} && is_plain_trainer(reader.document()) &&
        reader.has("trainer.tokenizer"))
        reader.invalid("trainer.tokenizer", "Trainer of transformers 5 has no such argument", "processing_class");
    return reader.reading().refusals.empty();
}

void read_script_network(Reader& reader, bool by_trl, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const std::string loader = reader.text("loader").value_or("");
    const bool classifies = plan.loop.kind == LoopKind::reward || plan.load.num_labels > 0;
    const char* const task = plan.load.labels_tokens ? "ForTokenClassification"
                             : classifies            ? "ForSequenceClassification"
                                                     : "ForCausalLM";
    // Of text and images, for rows of text; read.cpp has found the network that the loader gives.
    const bool whole = !classifies && has_towers(draft.job.model) &&
                       (loader == "AutoModelForImageTextToText" || loader.ends_with("ForConditionalGeneration"));
    if (!loader.empty() && !loader.ends_with(task) && !whole)
        reader.refuse("loader", fmt::format("networks that {} loads are not predicted", loader),
                      fmt::format("AutoModel{}", task));
    const bool itself = by_trl && loader.empty();
    // ORPOTrainer and CPOTrainer of trl 1.16.0 and BCOTrainer of 1.9.0 call from_pretrained, with a device map where
    // arguments are given.
    const bool plainly = itself && prepares_by_peft(plan.loop.kind);
    const bool as_trl = itself && !plainly;
    const std::string prefix = itself ? "model_init_kwargs" : "from_pretrained";
    if (reader.has(prefix) && reader.value(prefix)->kind != Value::Kind::map) (void)reader.texts(prefix);
    read_loaded_quantization(reader, prefix, itself, draft);
    plan.load.dtype = script_dtype(reader, prefix, as_trl, draft);
    read_device_map(reader, prefix, as_trl || (plainly && reader.has(prefix)), draft);
    if (reader.boolean(prefix + ".use_flash_attention_2").value_or(false))
        plan.load.attention = AttentionImplementation::flash_attention_2;
    else
        read_attention(reader, prefix + ".attn_implementation", draft);
    read_preparation(reader, draft);
    read_script_adapter(reader, draft);
    // Plain LoRA takes the same memory either way.
    const bool is_plain = !plan.peft || (plan.peft->kind == AdapterKind::lora && !takes_weights_apart(*plan.peft) &&
                                         plan.peft->options.token_indices.empty());
    plan.load.moved_by_trainer = !plan.load.on_device && !is_plain;
}

void read_script_rows(Reader& reader, Draft& draft) {
    const std::string key = first_of(reader, {"max_length", "max_seq_length", "trainer.max_seq_length"});
    const Value* given = reader.document().root.at(key);
    const bool uncut = given && given->kind == Value::Kind::null;
    if (!uncut) draft.length_limit = reader.integer_or(key, 1024, {.low = 1});
    draft.length_key = key;
    draft.length_place = reader.place(key);
    draft.packed = reader.boolean(first_of(reader, {"packing", "trainer.packing"})).value_or(false);
    const std::string strategy = reader.text("packing_strategy").value_or("bfd");
    const std::int64_t rows = draft.job.plan.training.per_device_train_batch_size;
    if (draft.packed && strategy != "wrapped" && reader.stack().trl >= Version{0, 18, 0}) {
        draft.packed_rows = rows;
        draft.one_row = true;
        draft.job.plan.training.per_device_train_batch_size = 1;
        if (rows > 1) reader.derive("training.per_device_train_batch_size", "1", "packing: the batch is one sequence");
    }
    const std::string multiple = first_of(reader, {"pad_to_multiple_of", "trainer.data_collator.pad_to_multiple_of"});
    draft.pad_multiple = reader.integer(multiple, {.low = 1, .high = 1 << 20}).value_or(1);
}

}  // namespace vramfit::trainers
