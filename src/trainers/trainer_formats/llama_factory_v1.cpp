// LLaMA-Factory v1 format: recognised, so that the answer can say what is not predicted.
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow k_llama_factory_v1_keys[] = {{"*", KeyUse::harmless}};
constexpr std::span<const KeyRow> k_llama_factory_v1_tables[] = {k_llama_factory_v1_keys};

bool is_llama_factory_v1(const Document& document) {
    const Value& root = document.root;
    if (!document.program.empty() || !document.launcher.empty()) return false;
    return (root.find("model") && (root.find("train_dataset") || root.find("peft_config") || root.find("dist_config") ||
                                   root.find("sample_backend")));
}

void read_llama_factory_v1(Reader& reader, Draft&) {
    const auto& keys = reader.document().root.keys;
    reader.refuse(keys.empty() ? "" : keys.front(), "LLaMA-Factory's newer format is not predicted");
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
    .keys = trainers::k_llama_factory_v1_tables,
    .read = trainers::read_llama_factory_v1,
};

}  // namespace vramfit::trainer_formats
