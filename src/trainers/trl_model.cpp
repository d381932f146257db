// The network and its adapters by the keys of trl's scripts: trl/trainer/model_config.py, trainer/utils.py.
#include "trainers/trl_model.hpp"

#include "trainers/common.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

/// trl 0.29: float32; before, what from_pretrained does without a word.
DType trl_dtype(Reader& reader, Draft& draft) {
    for (const char* key : {"dtype", "torch_dtype", "model_init_kwargs.torch_dtype", "model_init_kwargs.dtype"})
        if (reader.has(key)) return read_dtype(reader, key, draft).value_or(DType::float32);
    const bool asked = reader.stack().trl >= Version{0, 29, 0};
    const bool as_saved = reader.stack().transformers >= Version{5, 0, 0};
    const DType dtype = !asked && as_saved ? draft.job.model.checkpoint_dtype.value_or(DType::float32) : DType::float32;
    reader.assume("dtype", std::string(name_of(dtype)));
    return dtype;
}

void read_trl_lora(Reader& reader, Draft& draft) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("lora_r", 16, {.low = 1});
    lora.lora_alpha = reader.real_or("lora_alpha", 32);
    lora.lora_dropout = reader.real_or("lora_dropout", 0.05);
    set_targets(reader, "lora_target_modules",
                is_pattern(reader.value("lora_target_modules"))
                    ? std::vector<std::string>{"*"}
                    : reader.texts("lora_target_modules").value_or(std::vector<std::string>()),
                draft);
    lora.target_parameters = reader.texts("lora_target_parameters").value_or(std::vector<std::string>());
    lora.modules_to_save = reader.texts("lora_modules_to_save").value_or(std::vector<std::string>());
    lora.use_rslora = reader.boolean("use_rslora").value_or(false);
    lora.use_dora = reader.boolean("use_dora").value_or(false);
    draft.job.plan.sft_makes_adapters = true;  // the trainer is given get_peft_config(model_args)
}

}  // namespace

void read_trl_model(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    plan.load.dtype = trl_dtype(reader, draft);
    read_attention(reader, "attn_implementation", draft);
    if (reader.boolean_or("use_peft", false)) read_trl_lora(reader, draft);
    const bool four = reader.boolean("load_in_4bit").value_or(false);
    if (four) {
        quantize_4bit(draft, reader.boolean_or("use_bnb_nested_quant", false), plan.load.dtype);
        constexpr Named<QuantMethod> kTypes[] = {{"nf4", QuantMethod::nf4}, {"fp4", QuantMethod::fp4}};
        if (const auto type = choice<QuantMethod>(reader, "bnb_4bit_quant_type", kTypes))
            plan.load.quantization->method = *type;
        if (const auto storage = choice<DType>(reader, "bnb_4bit_quant_storage", kQuantStorages))
            plan.load.quantization->storage = *storage;
    } else if (reader.boolean("load_in_8bit").value_or(false)) {
        quantize_8bit(draft);
    }
}

}  // namespace vramfit::trainers
