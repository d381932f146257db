// NeMo Automodel: recognised, so that the answer can say what is not predicted.
#include "trainers/refused_file.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

bool is_nemo_automodel(const Document& document) {
    const Value& root = document.root;
    if (!is_file(document)) return false;
    return root.at("model._target_") || root.at("step_scheduler") || root.at("recipe._target_") ||
           root.find("recipe") || (root.find("distributed") && root.find("checkpoint")) ||
           root.find("packed_sequence") || root.find("loss_fn") || root.find("diffusion");
}

void read_nemo_automodel(Reader& reader, Draft&) { refuse_file(reader, "recipes of NeMo Automodel are not predicted"); }

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat nemo_automodel_entry;
const TrainerFormat nemo_automodel_entry = {
    .name = "nemo-automodel",
    .title = "NeMo Automodel",
    .summary = "YAML of NeMo Automodel: recognised, not predicted",
    .order = 100,
    .part = TrainerPart::other,
    .recognises = trainers::is_nemo_automodel,
    .keys = trainers::kUnreadKeys,
    .read = trainers::read_nemo_automodel,
};

}  // namespace vramfit::trainer_formats
