// transformers' TrainingArguments alone: training_args.json, launch lines of scripts with its arguments.
#include "trainers/common.hpp"
#include "trainers/fsdp.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow kPlainKeys[] = {
    {"model_name_or_path", KeyUse::used, "model", "llama-3.2-1b|llama-3.2-3b"},
    {"torch_dtype", KeyUse::used, "load.dtype", "bfloat16|float32"},
    {"dtype", KeyUse::used, "load.dtype", "bfloat16|float32"},
    {"attn_implementation", KeyUse::used, "load.attn_implementation", "eager|sdpa"},
    {"block_size", KeyUse::used, "batch.sequence_length", "128|256"},
    {"max_seq_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"model_max_length", KeyUse::used, "batch.sequence_length", "128|256"},
    {"do_eval", KeyUse::used, "evaluation", "true|false"},
    {"fsdp_transformer_layer_cls_to_wrap", KeyUse::harmless, "counts only with fsdp"},
    {"torch_compile_backend", KeyUse::harmless, "counts only with torch_compile"},
    {"torch_compile_mode", KeyUse::harmless, "counts only with torch_compile"},
    {"lora_r", KeyUse::unsupported, "the script itself decides what becomes of it"},
    {"lora_alpha", KeyUse::unsupported, "the script itself decides what becomes of it"},
    {"use_peft", KeyUse::unsupported, "the script itself decides what becomes of it"},
    {"load_in_4bit", KeyUse::unsupported, "the script itself decides what becomes of it"},
    {"load_in_8bit", KeyUse::unsupported, "the script itself decides what becomes of it"},
};

constexpr std::string_view kPlainHarmless[] = {
    "dataset_name",
    "dataset_config_name",
    "train_file",
    "validation_file",
    "validation_split_percentage",
    "preprocessing_num_workers",
    "overwrite_cache",
    "tokenizer_name",
    "config_name",
    "cache_dir",
    "use_fast_tokenizer",
    "model_revision",
    "token",
    "trust_remote_code",
    "max_train_samples",
    "max_eval_samples",
    "streaming",
    "keep_linebreaks",
    "low_cpu_mem_usage",
    "data_path",
    "_n_gpu",
    "__cached__setup_devices",
    "distributed_state",
    "deepspeed_plugin",
    "mp_parameters",
    "torchdynamo",
    "include_for_metrics",
};

constexpr auto kPlainHarmlessRows = harmless_rows(kPlainHarmless);
const std::span<const KeyRow> kPlainTables[] = {kPlainKeys, kFsdpArguments, kTrainingArguments, kPlainHarmlessRows,
                                                kHarmlessArguments};

bool is_training_args(const Document& document) {
    const Value& root = document.root;
    if (!document.launcher.empty() || root.kind != Value::Kind::map) return false;
    const bool script = document.program.ends_with(".py") && root.find("model_name_or_path");
    return script ||
           (root.find("per_device_train_batch_size") && (root.find("output_dir") || root.find("learning_rate")));
}

void read_plain(Reader& reader, Draft& draft) {
    draft.training_read = true;
    read_ddp(reader, draft);
    read_fsdp_arguments(reader, draft);
    allow_zero(draft);
    // transformers examples/pytorch/language-modeling/run_clm.py: `if training_args.do_eval: trainer.evaluate()`.
    read_training_arguments(reader, {.evaluates_at_end = true}, draft);
    LoadPlan& load = draft.job.plan.load;
    const char* key = reader.has("torch_dtype") ? "torch_dtype" : "dtype";
    if (const auto dtype = read_dtype(reader, key, draft)) {
        load.dtype = *dtype;
    } else {  // transformers 5: as saved; 4: float32
        const bool as_saved = reader.stack().transformers >= Version{5, 0, 0};
        load.dtype = as_saved ? draft.job.model.checkpoint_dtype.value_or(DType::float32) : DType::float32;
        reader.assume("dtype", std::string(name_of(load.dtype)));
    }
    read_attention(reader, "attn_implementation", draft);
    for (const char* length : {"block_size", "max_seq_length", "model_max_length"}) {
        const auto limit = reader.integer(length, {.low = 1});
        if (!limit || draft.length_limit > 0) continue;
        draft.length_limit = *limit;
        draft.length_key = length;
        draft.length_place = reader.place(length);
    }
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat training_args_entry;
const TrainerFormat training_args_entry = {
    .name = "training-args",
    .title = "transformers TrainingArguments 5.17",
    .summary = "training_args.json, launch lines of scripts with its arguments",
    .order = 90,
    .recognises = trainers::is_training_args,
    .keys = trainers::kPlainTables,
    .releases = "transformers up to 5.23",
    .model = [](trainers::Reader& reader) { return reader.text("model_name_or_path").value_or(""); },
    .read = trainers::read_plain,
    .knobs = {.batch = "per_device_train_batch_size",
              .accumulation = "gradient_accumulation_steps",
              .checkpointing = "gradient_checkpointing=true",
              .sdpa = "attn_implementation=sdpa",
              .flash_attention = "attn_implementation=flash_attention_2",
              .liger = "use_liger_kernel=true",
              .optimizer = "optim=paged_adamw_8bit"},
};

}  // namespace vramfit::trainer_formats
