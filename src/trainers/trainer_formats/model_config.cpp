// Hugging Face config.json: recognised, so that the answer can say what is not predicted.
#include "trainers/refused_file.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

bool is_model_config(const Document& document) {
    const Value& root = document.root;
    if (!is_file(document)) return false;
    if (document.syntax != Syntax::json) return false;
    return root.find("architectures") ||
           (root.find("model_type") &&
            (root.find("hidden_size") || root.find("n_embd") || root.find("d_model") || root.find("text_config")));
}

void read_model_config(Reader& reader, Draft&) {
    refuse_file(reader, "a config.json describes a network and trains nothing");
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
    .keys = trainers::kUnreadKeys,
    .read = trainers::read_model_config,
};

}  // namespace vramfit::trainer_formats
