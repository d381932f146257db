// The token embedding with what peft puts on it.
#include "engine/ops/embedding.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "model/adapters/adapters.hpp"
#include "model/adapters/trained_tokens.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"

namespace vramfit::model {

// transformers 5.17 models/gemma/modeling_gemma.py GemmaTextScaledWordEmbedding.forward: the scale is a buffer on the
// device.
Tensor base_forward(const Embedding& layer, const Tensor& ids) {
    if (layer.pieces > 1) return cut_embedding(layer, ids);
    const Tensor table = layer.tokens ? merged_table(layer) : layer.weight;
    const Tensor out = engine::embedding(table, ids);
    if (!layer.scale.defined()) return out;
    const Tensor scale = engine::to(layer.scale, layer.weight.dtype());
    return engine::mul(out, scale);
}

namespace {

Tensor without_hooks(const Embedding& layer, const Tensor& ids) {
    if (!layer.lora) return base_forward(layer, ids);
    if (!layer.lora->off) return lora_embedding(layer, ids);
    return called(&layer, Part::base_layer, ids, [&](const Tensor& given) { return base_forward(layer, given); });
}

}  // namespace

Tensor forward(const Embedding& layer, const Tensor& ids) {
    return called_module(layer, ids, [&layer](const Tensor& given) { return without_hooks(layer, given); });
}

// transformers modeling_utils.py enable_input_require_grads, a hook of its own: output.requires_grad_(True), in passes
// without gradients too, where autocast then keeps the cast of a float32 output as it keeps those of weights.
Tensor with_input_gradient(const Embedding& layer, const Tensor& out) {
    if (layer.output_requires_grad && !out.requires_grad()) {
        out.set_requires_grad(true);
        out->is_activation = true;
    }
    return out;
}

Tensor embed(const Network& network, const Tensor& ids) {
    const Embedding& layer = network.embed;
    return called_module(
        layer, ids, [&layer](const Tensor& given) { return with_input_gradient(layer, without_hooks(layer, given)); });
}

}  // namespace vramfit::model
