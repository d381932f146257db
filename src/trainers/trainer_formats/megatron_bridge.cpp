// Megatron-Bridge: recognised, so that the answer can say what is not predicted.
#include "trainers/refused_file.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

namespace {

bool is_megatron_bridge(const Document& document) {
    const Value& root = document.root;
    if (!is_file(document)) return false;
    return root.at("model.tensor_model_parallel_size") || root.at("model.seq_length") ||
           root.at("train.micro_batch_size") || root.at("train.train_iters") || root.find("ddp") ||
           root.find("mcore_adapters");
}

void read_megatron_bridge(Reader& reader, Draft&) { refuse_file(reader, "Megatron is not predicted"); }

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat megatron_bridge_entry;
const TrainerFormat megatron_bridge_entry = {
    .name = "megatron-bridge",
    .title = "Megatron-Bridge",
    .summary = "override files of Megatron-Bridge: recognised, not predicted",
    .order = 101,
    .part = TrainerPart::other,
    .recognises = trainers::is_megatron_bridge,
    .keys = trainers::kUnreadKeys,
    .read = trainers::read_megatron_bridge,
};

}  // namespace vramfit::trainer_formats
