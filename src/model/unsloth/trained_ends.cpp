// unsloth 2026.10.7, models/llama.py get_peft_model and _offload_frozen_module_for_training; models/_utils.py
// offload_to_disk.
#include "model/unsloth/trained_ends.hpp"

#include <optional>

#include "engine/ops/copy.hpp"
#include "model/unsloth/checkpoint.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Halves are trained in float32: models/llama.py _unfreeze_modules_to_save.
void place_copy(const Run& run, Tensor& copy) {
    const DType dtype = copy.dtype() == DType::float16 ? DType::float32 : copy.dtype();
    const Scoped<Category> fresh(run.session.recorder.fresh, Category::adapters);
    if (is_on_host(copy))
        copy = to_device(host_tensor(run.session, copy.sizes(), dtype));
    else
        copy = to(detach(copy), dtype);
    copy.set_requires_grad(true);
}

void return_original(std::optional<OriginalModule>& original) {
    if (original && is_on_host(original->weight)) original->weight = to_device(original->weight);
}

}  // namespace

void move_to_host(Tensor& weight) { weight = host_tensor(weight.session(), weight.sizes(), weight.dtype()); }

void offload_trained_ends(const Run& run, Network& network) {
    const TrainedEnds ends = trained_ends(run.spec, run.plan);
    if (ends.embedding && run.unsloth->embedding_on_host) {  // models/vision.py restore_input_embedding
        network.embed.weight = to_device(network.embed.weight);
        run.unsloth->embedding_on_host = false;
    }
    if (!offloads_inputs(run)) return;
    if (ends.embedding) {
        move_to_host(network.embed.weight);
        network.embed.scale.reset();  // a plain embedding takes its place
        run.session.recorder.empty_cache();
    }
    if (!ends.head || ends.tied) return;
    move_to_host(network.head.weight);
    run.session.recorder.empty_cache();
}

void place_trained_ends(const Run& run, Network& network) {
    const TrainedEnds ends = trained_ends(run.spec, run.plan);
    if (ends.tied) {  // the head's own is given up for the embedding's
        network.head.weight.reset();
        network.head.original = network.embed.original;
    }
    if (ends.embedding) place_copy(run, network.embed.weight);
    if (ends.head && !ends.tied) place_copy(run, network.head.weight);
    if (ends.tied) network.head.weight = network.embed.weight;
    if (ends.embedding || ends.head) run.session.recorder.empty_cache();
}

void return_embedding(const Run& run, Network& network) {
    if (!trained_ends(run.spec, run.plan).embedding) return;
    return_original(network.embed.original);
    if (trained_ends(run.spec, run.plan).tied) network.head.original = network.embed.original;
}

void return_head(const Run& run, Network& network) {
    if (trained_ends(run.spec, run.plan).head) return_original(network.head.original);
}

}  // namespace vramfit::model
