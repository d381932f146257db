// transformers 4.40 to 5.17 modeling_utils.py _resize_token_embeddings, without the mean of the old rows.
#include "model/loading/resize.hpp"

#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

void resize_token_embeddings(const Run& run, Network& network) {
    const Size rows = run.spec.vocab_size;
    network.spec = &run.spec;
    if (network.embed.rows == rows) return;
    if (network.head.quantized)
        throw Error(ErrorKind::unsupported, "load.resize_token_embeddings",
                    "resizing a network with a quantized head is not supported", "keep lm_head out of quantization");
    const auto resized = [&](const Tensor& old) {
        const Scoped<bool> on_host(run.session.on_host, is_on_host(old));  // where the old one is
        return empty(run.session, {rows, old.size(1)}, old.dtype(), Op::loader);
    };
    // accelerate 0.29 hooks.py add_hook_to_module: a hook's method holds its module, so what a new module takes the
    // place of is a cycle; AlignDevicesHook.init_hook of the new one calls set_module_tensor_to_device.
    const bool hooks = run.plan.load.quantization && run.stack.dispatch_hooks_quantized_models();
    const auto replaced = [&](Tensor& old, bool whole_module) {
        if (hooks && whole_module) network.uncollected.push_back(old);
        if (hooks) run.session.recorder.empty_cache();
    };
    const bool keeps_embedding = run.stack.resizing_keeps_embedding_module();
    Tensor old_embedding = network.embed.weight;
    network.embed.weight = resized(old_embedding);
    network.embed.rows = rows;
    network.head.out = rows;
    if (network.tied) network.head.weight = network.embed.weight;
    if (keeps_embedding) old_embedding.reset();
    replaced(old_embedding, !keeps_embedding);
    if (network.tied) return;
    Tensor old_head = network.head.weight;
    network.head.weight = resized(old_head);
    if (network.head.has_bias) network.head.bias = empty(run.session, {rows}, network.head.bias.dtype(), Op::loader);
    replaced(old_head, true);
    old_embedding.reset();
}

}  // namespace vramfit::model
