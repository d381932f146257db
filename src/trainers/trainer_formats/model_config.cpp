// Hugging Face config.json: recognised, so that the answer can say what is not predicted.
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

constexpr KeyRow k_model_config_keys[] = {{"*", KeyUse::harmless}};
constexpr std::span<const KeyRow> k_model_config_tables[] = {k_model_config_keys};

bool is_model_config(const Document& document) {
    const Value& root = document.root;
    if (!document.program.empty() || !document.launcher.empty()) return false;
    if (document.syntax != Syntax::json) return false;
    return root.find("architectures") ||
           (root.find("model_type") &&
            (root.find("hidden_size") || root.find("n_embd") || root.find("d_model") || root.find("text_config")));
}

void read_model_config(Reader& reader, Draft&) {
    const auto& keys = reader.document().root.keys;
    reader.refuse(keys.empty() ? "" : keys.front(), "a config.json describes a network and trains nothing");
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat model_config_entry;
const TrainerFormat model_config_entry = {
    .name = "model-config",
    .title = "Hugging Face config.json",
    .summary = "a model's config.json: give it with --model-config",
    .order = 3,
    .part = TrainerPart::other,
    .recognises = trainers::is_model_config,
    .keys = trainers::k_model_config_tables,
    .read = trainers::read_model_config,
};

}  // namespace vramfit::trainer_formats
