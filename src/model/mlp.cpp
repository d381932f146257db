// transformers 4.40 to 5.17 models/llama/modeling_llama.py LlamaMLP.forward.
#include "model/mlp.hpp"

#include "engine/ops/pointwise.hpp"
#include "model/experts.hpp"
#include "model/liger.hpp"
#include "model/modules.hpp"

namespace vramfit::model {

using namespace engine;

Tensor activate(const ModelSpec& spec, const Tensor& t) {
    switch (spec.hidden_act) {
        case Activation::silu: return silu(t);
        case Activation::gelu:
        case Activation::gelu_tanh: return gelu(t);
        case Activation::relu: return relu(t);
    }
    return {};
}

namespace {

/// LigerSwiGLUMLP.forward.
Tensor liger_mlp(const DecoderLayer& layer, const Tensor& x) {
    Tensor product;
    {
        const Tensor gate = forward(layer.gate, x);
        const Tensor up = forward(layer.up, x);
        product = liger_silu_mul(gate, up);
    }
    return forward(layer.down, product);
}

}  // namespace

Tensor mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    return layer.experts.tensors.empty() ? gated_mlp(run, layer, x) : sparse_mlp(run, layer, x);
}

Tensor gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    if (uses_liger(run)) return liger_mlp(layer, x);
    Tensor product = forward(layer.gate, x);
    product = activate(run.spec, product);
    {
        const Tensor up = forward(layer.up, x);
        product = mul(product, up);
    }
    return forward(layer.down, product);
}

}  // namespace vramfit::model
