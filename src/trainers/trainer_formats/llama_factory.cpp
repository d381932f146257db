// LLaMA-Factory: YAML or JSON of `llamafactory-cli train`.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/keys/llama_factory.hpp"
#include "trainers/llama_factory_preferences.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr auto kFactoryHarmlessRows = harmless_rows(kLlamaFactoryHarmless);
const std::span<const KeyRow> kFactoryTables[] = {kLlamaFactoryKeys, kTrainingArguments, kFactoryHarmlessRows,
                                                  kHarmlessArguments};

bool is_llama_factory(const Document& document) {
    const Value& root = document.root;
    if (document.program.starts_with("llamafactory-cli") || document.program == "src/train.py") return true;
    if (root.kind != Value::Kind::map) return false;
    const bool data = root.find("cutoff_len") || root.find("template");
    return root.find("finetuning_type") || (root.find("stage") && data) || (root.find("model_name_or_path") && data) ||
           (root.find("model_name_or_path") && (root.find("export_dir") || root.find("infer_backend")));
}

/// What the base is loaded in, and what packed weights are computed and stored in.
struct FactoryDtypes {
    DType base;
    DType compute;
};

/// src/llamafactory/extras/misc.py infer_optim_dtype.
DType compute_dtype_of(const Reader& reader, const std::optional<DType>& checkpoint) {
    const bool as_bf16 = !checkpoint || *checkpoint == DType::bfloat16;
    return as_bf16 && reader.question().bf16_card ? DType::bfloat16 : DType::float16;
}

// src/llamafactory/model/loader.py load_model: torch_dtype "auto", whatever bf16 and fp16 say; hparams/parser.py.
FactoryDtypes factory_dtypes(Reader& reader, Draft& draft) {
    const bool pure = reader.boolean_or("pure_bf16", false);
    const bool bf16 = reader.boolean_or("bf16", false);
    const bool fp16 = reader.boolean_or("fp16", false);
    draft.job.plan.training.bf16 = bf16;
    draft.job.plan.training.fp16 = fp16;
    const std::optional<DType> checkpoint = draft.job.model.checkpoint_dtype;
    const DType base = checkpoint.value_or(DType::float32);
    reader.derive("load.dtype", std::string(name_of(base)),
                  checkpoint ? "the checkpoint's" : "the model's config does not say the checkpoint's");
    return {base, bf16 || pure ? DType::bfloat16 : fp16 ? DType::float16 : compute_dtype_of(reader, checkpoint)};
}

void read_factory_lora(Reader& reader, Draft& draft) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    lora.r = reader.integer_or("lora_rank", 8, {.low = 1});
    lora.lora_alpha = reader.real("lora_alpha").value_or(static_cast<double>(2 * lora.r));
    lora.lora_dropout = reader.real_or("lora_dropout", 0);
    lora.use_dora = reader.boolean("use_dora").value_or(false);
    lora.use_rslora = reader.boolean("use_rslora").value_or(false);
    const auto names = reader.texts("lora_target");
    if (!names) reader.assume("lora_target", "all");
    set_targets(reader, "lora_target", names.value_or(std::vector<std::string>{"all"}), draft);
}

// src/llamafactory/model/model_utils/quantization.py, configure_quantization.
void read_factory_quantization(Reader& reader, Draft& draft, DType dtype) {
    const auto bits = reader.integer("quantization_bit");
    const std::string method = reader.text("quantization_method").value_or("bnb");
    if (!bits) return;
    if (method != "bnb" && method != "bitsandbytes")
        return reader.refuse("quantization_method", fmt::format("the quantizer '{}' is not supported", method),
                             "supported: bnb");
    if (*bits == 8) return quantize_8bit(draft);
    if (*bits != 4)
        return reader.refuse("quantization_bit", fmt::format("{} bits are not supported", *bits), "supported: 4, 8");
    quantize_4bit(draft, reader.boolean_or("double_quantization", true), dtype);
    constexpr Named<QuantMethod> kTypes[] = {{"nf4", QuantMethod::nf4}, {"fp4", QuantMethod::fp4}};
    if (const auto type = choice<QuantMethod>(reader, "quantization_type", kTypes))
        draft.job.plan.load.quantization->method = *type;
    draft.job.plan.load.quantization->storage = dtype;
}

/// 0.9.5 src/llamafactory/model/model_utils/attention.py, configure_attn_implementation. Whether flash_attn is
/// installed, which Gemma 2 then runs with, is not asked: the file would say fa2.
void read_factory_attention(Reader& reader, Draft& draft) {
    const std::string& model = draft.job.model.model_type;
    AttentionImplementation& attention = draft.job.plan.load.attention;
    if (model == "gpt_oss")
        return reader.refuse("model_name_or_path",
                             "LLaMA-Factory runs gpt-oss with FlashAttention-3 of the hub (kernels-community/"
                             "vllm-flash-attn3) whatever flash_attn says, and what that takes is not known",
                             "axolotl, trl and Trainer run it with eager attention unless told otherwise");
    const Named<AttentionImplementation> names[] = {{"auto", attention},  // what from_pretrained chooses
                                                    {"sdpa", AttentionImplementation::sdpa},
                                                    {"disabled", AttentionImplementation::eager},
                                                    {"off", AttentionImplementation::eager},
                                                    {"false", AttentionImplementation::eager},
                                                    {"fa2", AttentionImplementation::flash_attention_2},
                                                    {"flash_attention_2", AttentionImplementation::flash_attention_2}};
    const std::string asked = reader.text_or("flash_attn", "auto");
    if (const auto chosen = choice<AttentionImplementation>(reader, "flash_attn", names)) attention = *chosen;
    if ((model == "gemma2" && asked == "auto") || (model == "youtu" && (asked == "auto" || asked == "sdpa"))) {
        attention = AttentionImplementation::eager;
        reader.derive("load.attn_implementation", "eager", "LLaMA-Factory runs this model so unless flash_attn is fa2");
    }
}

// src/llamafactory/model/adapter.py, init_adapter: trainable parameters are cast to float32 unless pure_bf16.
void read_factory_method(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const FactoryDtypes dtypes = factory_dtypes(reader, draft);
    const std::string method = reader.text_or("finetuning_type", "lora");
    plan.load.dtype = dtypes.base;
    if (method == "full") {
        if (reader.integer("quantization_bit"))
            reader.refuse("quantization_bit", "LLaMA-Factory does not train a quantized base as a whole",
                          "finetuning_type: lora");
        if (!reader.boolean("pure_bf16").value_or(false) && dtypes.base != DType::float32) {
            plan.load.dtype = DType::float32;
            reader.derive("load.dtype", "float32", "trained weights are cast to float32 unless pure_bf16");
        }
    } else if (method == "lora") {
        read_factory_lora(reader, draft);
        read_factory_quantization(reader, draft, dtypes.compute);
    } else {
        reader.refuse("finetuning_type", fmt::format("'{}' is not supported", method), "supported: full, lora");
    }
}

// src/llamafactory/model/model_utils/moe.py configure_moe, of the mixtures that are supported.
void read_factory_mixture(Reader& reader, Draft& draft) {
    const double weight = reader.real("moe_aux_loss_coef").value_or(0);
    ModelSpec& model = draft.job.model;
    constexpr std::array<std::string_view, 5> kNotKnown = {"ernie4_5_moe", "granitemoe", "jamba", "olmoe", "phimoe"};
    if (weight != 0 && std::find(kNotKnown.begin(), kNotKnown.end(), model.model_type) != kNotKnown.end())
        return reader.refuse("moe_aux_loss_coef",
                             fmt::format("the loss that balances the experts of {} is not predicted", model.model_type),
                             "take it out");
    const bool known =
        model.model_type == "mixtral" || model.model_type == "qwen2_moe" || model.model_type == "qwen3_moe";
    if (weight == 0 || !known || !model.mixture) return;
    model.mixture->output_router_logits = true;
    model.mixture->router_aux_loss_coef = weight;
}

void read_factory_batch(Reader& reader, Draft& draft, const std::string& stage) {
    draft.length_limit = reader.integer_or("cutoff_len", 2048, {.low = 1});
    draft.length_key = "cutoff_len";
    draft.length_place = reader.place("cutoff_len");
    const bool neat = reader.boolean_or("neat_packing", false);
    draft.packed = neat || reader.boolean("packing").value_or(stage == "pt");
    draft.packing_needs_mask = neat;
    draft.pad_multiple = 8;  // train/sft/workflow.py: pad_to_multiple_of
}

// src/llamafactory/hparams/parser.py, get_train_args: each process loads on its card; adapters are not searched for
// unused parameters.
void read_factory_processes(Reader& reader, Draft& draft) {
    draft.loads_on_card = true;
    read_ddp(reader, draft);
    draft.starts_processes = reader.document().program.starts_with("llamafactory-cli");
    draft.no_fsdp = nullptr;
    draft.no_fsdp2 = kFactoryFsdp2;
    draft.no_fsdp_without_ram_efficient_loading = kFactoryLoadsWhole;
    allow_zero(draft);
    draft.no_int8_in_zero3 =  // model/model_utils/quantization.py, configure_quantization
        "LLaMA-Factory stops: Only 4-bit quantized model can use fsdp+qlora or auto device map.";
    DdpPlan& ddp = std::get<DdpPlan>(draft.processes->method);
    if (draft.job.plan.peft) ddp.find_unused_parameters = ddp.find_unused_parameters.value_or(false);
}

void read_factory(Reader& reader, Draft& draft) {
    draft.training_read = true;
    TrainingPlan& training = draft.job.plan.training;
    const std::string stage = reader.text_or("stage", "sft");
    if (stage != "sft" && stage != "pt" && !is_factory_preference(stage))
        // 0.9.5 train/ppo/trainer.py CustomPPOTrainer.__init__; extras/misc.py check_dependencies.
        reader.refuse("stage",
                      fmt::format("the stage '{}' is not predicted{}", stage,
                                  stage == "ppo" ? ": LLaMA-Factory 0.9.5 stops there with the trl that it asks for "
                                                   "itself (\"Incompatible TRL version detected. LLaMA-Factory ppo "
                                                   "requires TRL version >=0.8.6,<=0.9.6.\")"
                                                 : ""),
                      "supported: sft, pt, dpo, kto, rm");
    if (!reader.boolean("do_train").value_or(false))
        reader.refuse("do_train", "the file trains nothing (do_train is not true)", "check a file of a training");
    // 0.9.5 train/sft/workflow.py, train/pt/workflow.py: `if training_args.do_eval: trainer.evaluate(...)`.
    read_training_arguments(reader, {.evaluates_at_end = true}, draft);
    read_factory_method(reader, draft);
    training.gradient_checkpointing = !reader.boolean_or("disable_gradient_checkpointing", false);
    training.use_reentrant = reader.boolean_or("use_reentrant_gc", true);
    require_input_grads(draft);
    read_factory_processes(reader, draft);
    read_factory_attention(reader, draft);
    training.use_liger_kernel = reader.boolean("enable_liger_kernel").value_or(false);
    read_factory_mixture(reader, draft);
    read_factory_batch(reader, draft, stage);
    if (is_factory_preference(stage)) read_factory_preferences(reader, stage, draft);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat llama_factory_entry;
const TrainerFormat llama_factory_entry = {
    .name = "llama-factory",
    .title = "LLaMA-Factory 0.9.5",
    .summary = "YAML or JSON of llamafactory-cli train",
    .stack = "llamafactory-0.9.5",
    .order = 50,
    .recognises = trainers::is_llama_factory,
    .keys = trainers::kFactoryTables,
    .releases = "LLaMA-Factory up to 0.9.5",
    .model = [](trainers::Reader& reader) { return reader.text("model_name_or_path").value_or(""); },
    .read = trainers::read_factory,
    .knobs = {.batch = "per_device_train_batch_size",
              .accumulation = "gradient_accumulation_steps",
              .rank = "lora_rank",
              .checkpointing = "disable_gradient_checkpointing=false",
              .sdpa = "flash_attn=sdpa",
              .flash_attention = "flash_attn=fa2",
              .liger = "enable_liger_kernel=true",
              .optimizer = "optim=paged_adamw_8bit",
              .unpacked = "packing=false neat_packing=",
              .double_quant = "double_quantization=true",
              .quantize = "quantization_bit=4 quantization_method=",
              .lora = "finetuning_type=lora",
              .qlora = "finetuning_type=lora quantization_bit=4"},
};

}  // namespace vramfit::trainer_formats
