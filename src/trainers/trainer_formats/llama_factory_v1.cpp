// LLaMA-Factory v1 format: recognised, so that the answer can say what is not predicted.
#include "trainers/refused_file.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

bool is_llama_factory_v1(const Document& document) {
    const Value& root = document.root;
    if (!is_file(document)) return false;
    return (root.find("model") && (root.find("train_dataset") || root.find("peft_config") || root.find("dist_config") ||
                                   root.find("sample_backend")));
}

void read_llama_factory_v1(Reader& reader, Draft&) {
    refuse_file(reader, "LLaMA-Factory's newer format is not predicted");
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat llama_factory_v1_entry;
const TrainerFormat llama_factory_v1_entry = {
    .name = "llama-factory-v1",
    .title = "LLaMA-Factory v1 format",
    .summary = "the newer format of LLaMA-Factory: recognised, not predicted",
    .order = 14,
    .part = TrainerPart::other,
    .recognises = trainers::is_llama_factory_v1,
    .keys = trainers::kUnreadKeys,
    .read = trainers::read_llama_factory_v1,
};

}  // namespace vramfit::trainer_formats
