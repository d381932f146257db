// TRL: YAML of `trl sft` and of its scripts, launch lines with the same arguments, recipes of the alignment handbook.
#include <algorithm>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/fsdp.hpp"
#include "trainers/keys/trl.hpp"
#include "trainers/keys/trl_model.hpp"
#include "trainers/keys/trl_other.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/trl_model.hpp"
#include "trainers/zero.hpp"

namespace vramfit::trainers {

namespace {

constexpr auto kTrlHarmlessRows = harmless_rows(kTrlHarmless);
constexpr auto kTrlSftRows = harmless_rows(kIgnoredSftArguments);
constexpr auto kTrlOtherRows = unsupported_rows(kTrlOtherKeys, kOtherTraining);
const std::span<const KeyRow> kTrlTables[] = {kTrlModelKeys,    kTrlSftKeys,        kFsdpArguments, kTrainingArguments,
                                              kTrlHarmlessRows, kHarmlessArguments, kTrlSftRows,    kTrlOtherRows};

/// Keys that transformers' own scripts have as well.
constexpr std::string_view kScriptsToo[] = {"model_name_or_path",
                                            "dtype",
                                            "torch_dtype",
                                            "attn_implementation",
                                            "block_size",
                                            "max_seq_length",
                                            "dataset_name",
                                            "dataset_config_name",
                                            "train_file",
                                            "validation_file",
                                            "preprocessing_num_workers",
                                            "trust_remote_code",
                                            "model_revision",
                                            "max_train_samples",
                                            "max_eval_samples",
                                            "use_fast_tokenizer",
                                            "cache_dir",
                                            "token",
                                            "streaming",
                                            "do_eval",
                                            "data_path"};

/// JSON is what transformers' scripts read (HfArgumentParser.parse_json_file): trl's only if a key is trl's own.
bool is_of_script(const Value& root) {
    const auto is_own = [](const std::string& key) {
        const auto named = [&key](const KeyRow& row) { return row.key == key; };
        const auto in = [&](const auto& rows) { return std::any_of(std::begin(rows), std::end(rows), named); };
        return (in(kTrlModelKeys) || in(kTrlSftKeys) || in(kTrlHarmlessRows) || in(kTrlSftRows)) &&
               std::find(std::begin(kScriptsToo), std::end(kScriptsToo), key) == std::end(kScriptsToo);
    };
    return std::none_of(root.keys.begin(), root.keys.end(), is_own) && root.find("per_device_train_batch_size") &&
           (root.find("output_dir") || root.find("learning_rate"));
}

bool is_trl(const Document& document) {
    if (!document.launcher.empty() || document.root.kind != Value::Kind::map) return false;
    if (document.program.starts_with("trl ")) return true;
    const Value& root = document.root;
    if (document.syntax == Syntax::json && document.program.empty() && is_of_script(root)) return false;
    return root.find("model_name_or_path") != nullptr && !document.program.starts_with("run_");
}

/// Other trainings are refused by what they are.
bool is_sft(const Document& document) { return document.program.empty() || document.program == "trl sft"; }

/// Rows: cut to max_length; packed ones come as one row of all their tokens (padding-free) from trl 0.18 on.
void read_trl_rows(Reader& reader, Draft& draft) {
    const char* key = reader.has("max_seq_length") && !reader.has("max_length") ? "max_seq_length" : "max_length";
    if (!reader.has("max_length") && reader.has("block_size")) key = "block_size";
    draft.length_limit = reader.integer_or(key, 1024, {.low = 1});
    draft.length_key = key;
    draft.length_place = reader.place(key);
    draft.packed = reader.boolean_or("packing", false);
    if (draft.evaluation) draft.evaluation->packed = reader.boolean("eval_packing").value_or(true);
    const std::string strategy = reader.text("packing_strategy").value_or("bfd");
    const std::int64_t rows = draft.job.plan.training.per_device_train_batch_size;
    if (draft.packed && strategy != "wrapped" && reader.stack().trl >= Version{0, 18, 0}) {
        draft.packed_rows = rows;
        draft.one_row = true;
        draft.job.plan.training.per_device_train_batch_size = 1;
        if (rows > 1) reader.derive("training.per_device_train_batch_size", "1", "packing: the batch is one sequence");
    }
    // trl 1.16.0, sft_config.py __post_init__: "auto" is nothing on a GPU.
    const Value* multiple = reader.value("pad_to_multiple_of");
    if (!multiple || (multiple->text != "auto" && multiple->text != "none" && multiple->text != "null"))
        draft.pad_multiple = reader.integer("pad_to_multiple_of", {.low = 1, .high = 1 << 20}).value_or(1);
}

void read_trl(Reader& reader, Draft& draft) {
    draft.training_read = true;
    read_ddp(reader, draft);
    read_fsdp_arguments(reader, draft);
    allow_zero(draft);
    const std::string& program = reader.document().program;
    if (program.starts_with("trl ") && program != "trl sft")
        reader.refuse("model_name_or_path", fmt::format("'{}' is not predicted yet", program), "supported: trl sft");
    const bool plain = reader.stack().trl == Version{} || program == "train.py" || program == "run_clm.py";
    const bool newer = reader.stack().trl >= Version{0, 22, 0};
    read_training_arguments(
        reader, {.batch = 8, .checkpointing = newer, .bf16 = reader.stack().trl >= Version{0, 20, 0}}, draft);
    read_trl_model(reader, draft);
    // trl 1.16.0, sft_trainer.py, compute_loss: with Liger the model's own fused loss, as in transformers' Trainer.
    TrainPlan& plan = draft.job.plan;
    const bool own_loss = plan.training.use_liger_kernel && !plan.load.quantization;
    plan.loop.kind = plain || own_loss ? LoopKind::trainer : LoopKind::sft;
    if (plan.loop.kind == LoopKind::trainer) require_input_grads(draft);
    plan.training.router_aux_loss_coef = reader.real("router_aux_loss_coef");
    if (const auto& mixture = draft.job.model.mixture;
        own_loss && mixture && reader.stack().sft_balances_experts() &&
        plan.training.router_aux_loss_coef.value_or(mixture->router_aux_loss_coef.value_or(1)) != 0)
        reader.refuse("router_aux_loss_coef",
                      "the loss that balances experts is not predicted where Liger fuses the loss",
                      "0 switches it off");
    read_trl_rows(reader, draft);
    const std::string loss = reader.text("loss_type").value_or("");
    const bool chunked = reader.stack().sft_scores_in_chunks();
    // trl 1.16.0, sft_config.py __post_init__: "chunked_nll" is an older name of "nll".
    if (!loss.empty() && loss != "nll" && !(chunked && loss == "chunked_nll"))
        reader.refuse("loss_type", fmt::format("the loss '{}' is not predicted", loss), "supported: nll");
}

constexpr TrainerKnobs kSftKnobs = [] {
    TrainerKnobs out = kTrlKnobs;
    out.flash_attention = "attn_implementation=flash_attention_2";
    out.liger = "use_liger_kernel=true";
    out.unpacked = "packing=false";
    return out;
}();

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_entry;
const TrainerFormat trl_entry = {
    .name = "trl",
    .title = "TRL 1.16",
    .summary = "YAML or launch line of trl sft, recipes of the alignment handbook",
    .order = 80,
    .recognises = trainers::is_trl,
    .keys = trainers::kTrlTables,
    .releases = "TRL up to 1.16",
    .is_of_release = trainers::is_sft,
    .model = [](trainers::Reader& reader) { return reader.text("model_name_or_path").value_or(""); },
    .read = trainers::read_trl,
    .knobs = trainers::kSftKnobs,
};

}  // namespace vramfit::trainer_formats
