// FSDP options of TrainingArguments: recognised, so that the answer can say what is not predicted.
#include "trainers/refused_file.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

bool is_fsdp_json(const Document& document) {
    const Value& root = document.root;
    if (!is_file(document)) return false;
    return root.find("transformer_layer_cls_to_wrap") || root.find("fsdp_transformer_layer_cls_to_wrap") ||
           (root.find("backward_prefetch") && !root.find("model_name_or_path"));
}

void read_fsdp_json(Reader& reader, Draft&) { refuse_file(reader, "fully sharded training is not predicted yet"); }

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat fsdp_json_entry;
const TrainerFormat fsdp_json_entry = {
    .name = "fsdp-json",
    .title = "FSDP options of TrainingArguments",
    .summary = "JSON of fsdp_config: recognised, not predicted",
    .order = 102,
    .part = TrainerPart::other,
    .recognises = trainers::is_fsdp_json,
    .keys = trainers::kUnreadKeys,
    .read = trainers::read_fsdp_json,
};

}  // namespace vramfit::trainer_formats
