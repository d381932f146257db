// ms-swift: shell lines of `swift sft` and `swift rlhf`, YAML and JSON with the same arguments.
#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/keys/ms_swift.hpp"
#include "trainers/keys/ms_swift_other.hpp"
#include "trainers/ms_swift_preferences.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr auto kSwiftOtherRows = unsupported_rows(kSwiftOtherKeys, kSwiftOtherTraining);
constexpr auto kSwiftHarmlessRows = harmless_rows(kSwiftHarmless);
const std::span<const KeyRow> kSwiftTables[] = {kSwiftKeys, kTrainingArguments, kSwiftHarmlessRows, kHarmlessArguments,
                                                kSwiftOtherRows};

bool is_swift(const Document& document) {
    if (document.program.starts_with("swift ")) return true;
    const Value& root = document.root;
    if (root.kind != Value::Kind::map || !document.launcher.empty()) return false;
    const Value* model = root.find("model");
    return model && model->is_scalar() && (root.find("tuner_type") || root.find("train_type") || root.find("sft_type"));
}

/// Other commands have keys of their own, and are refused by what they are.
bool is_swift_training(const Document& document) {
    const std::string& program = document.program;
    return program.empty() || program == "swift sft" || program == "swift pt" || program == "swift rlhf";
}

void read_swift_lora(Reader& reader, Draft& draft) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("lora_rank", 8, {.low = 1});
    lora.lora_alpha = reader.real_or("lora_alpha", 32);
    lora.lora_dropout = reader.real_or("lora_dropout", 0.05);
    const auto names = reader.texts("target_modules");
    if (const auto pattern = reader.text("target_regex")) {  // goes before target_modules
        lora.target_modules = *pattern;
    } else {
        if (!names) reader.assume("target_modules", "all-linear");
        set_targets(reader, "target_modules", names.value_or(std::vector<std::string>{"all-linear"}), draft);
    }
    lora.target_parameters = reader.texts("target_parameters").value_or(std::vector<std::string>());
    constexpr Named<LoraBias> kBiases[] = {{"none", LoraBias::none}, {"all", LoraBias::all}};
    if (const auto bias = choice<LoraBias>(reader, "lora_bias", kBiases)) lora.bias = *bias;
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
    if (const auto dtype = read_dtype(reader, "bnb_4bit_compute_dtype", draft))
        draft.job.plan.load.quantization->compute_dtype = *dtype;
    if (const auto storage = choice<DType>(reader, "bnb_4bit_quant_storage", kQuantStorages))
        draft.job.plan.load.quantization->storage = *storage;
}

// ms-swift 4.6, swift/arguments/{base_args/*,sft_args,tuner_args}.py.
void read_swift(Reader& reader, Draft& draft) {
    draft.training_read = true;
    allow_zero(draft);
    draft.loads_on_card = true;  // model/utils.py get_default_device_map
    draft.reentrant_unless_ddp = true;
    TrainPlan& plan = draft.job.plan;
    const std::string& program = reader.document().program;
    if (!is_swift_training(reader.document()))
        reader.refuse("model", fmt::format("'{}' is not predicted yet", program),
                      "supported: swift sft, swift pt, swift rlhf");
    const auto dtype = read_dtype(reader, "torch_dtype", draft);
    plan.load.dtype = dtype.value_or(draft.job.model.checkpoint_dtype.value_or(DType::bfloat16));
    if (!dtype) reader.assume("torch_dtype", std::string(name_of(plan.load.dtype)));
    // swift/trainers/arguments.py TrainArgumentsMixin.
    const bool in_groups = is_swift_rlhf(reader) && reader.text("rlhf_type") == "grpo";
    constexpr std::int64_t kRowsOfUpdate = 16;
    read_training_arguments(reader,
                            {.batch = 1,
                             .checkpointing = true,
                             .bf16 = plan.load.dtype == DType::bfloat16,
                             .evaluation_batch = 1,
                             .weight_decay = kSwiftWeightDecay,
                             .rows_of_update = in_groups ? 0 : kRowsOfUpdate},  // RLHFArguments._set_default
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
    if (const auto packed = reader.integer("packing_length", {.low = 1}); packed && draft.packed) {
        draft.length_limit = *packed;
        draft.length_key = "packing_length";
        draft.length_place = reader.place("packing_length");
    }
    const bool sets_task = is_swift_rlhf(reader) && reader.text("rlhf_type") == "rm";  // RLHFArguments._init_rm
    if (!sets_task && reader.text("task_type").value_or("causal_lm") != "causal_lm")
        reader.refuse("task_type", "another task needs another head", "causal_lm");
    if (is_swift_rlhf(reader)) return read_swift_preferences(reader, draft);
    if (reader.has("loss_type")) reader.refuse("loss_type", "this loss is not predicted", "take it out");
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat ms_swift_entry;
const TrainerFormat ms_swift_entry = {
    .name = "ms-swift",
    .title = "ms-swift 3 and 4",
    .summary = "shell lines of swift sft and swift rlhf, YAML and JSON with its arguments",
    .stack = "swift-4.6",
    .order = 70,
    .recognises = trainers::is_swift,
    .keys = trainers::kSwiftTables,
    .releases = "ms-swift 3 to 4.6",
    .is_of_release = trainers::is_swift_training,
    .model = [](trainers::Reader& reader) { return reader.text("model").value_or(""); },
    .read = trainers::read_swift,
    .knobs = {.batch = "per_device_train_batch_size",
              .accumulation = "gradient_accumulation_steps",
              .rank = "lora_rank",
              .checkpointing = "gradient_checkpointing=true",
              .sdpa = "attn_impl=sdpa",
              .flash_attention = "attn_impl=flash_attn",
              .liger = "use_liger_kernel=true",
              .optimizer = "optim=paged_adamw_8bit",
              .unpacked = "packing=false",
              .double_quant = "bnb_4bit_use_double_quant=true",
              .bfloat16 = "torch_dtype=bfloat16",
              .quantize = "quant_method=bnb quant_bits=4",
              .lora = "sft_type|train_type|tuner_type=lora",
              .qlora = "sft_type|train_type|tuner_type=lora quant_method=bnb quant_bits=4"},
};

}  // namespace vramfit::trainer_formats
