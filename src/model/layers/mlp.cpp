// transformers 4.40 to 5.17 models/*/modeling_*.py XMLP.forward, and activations.py.
#include "model/layers/mlp.hpp"

#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/split.hpp"
#include "model/layers/liger.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

// NewGELUActivation.forward: 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))); the cube is a pow like the
// square.
Tensor new_gelu(const Tensor& x) {
    Tensor half = mul(x, 0.5);
    Tensor inner;
    {
        const Tensor cubic = mul(square(x), 0.044715);
        inner = add(x, cubic);
    }
    inner = mul(inner, 0.79788);
    inner = tanh(inner);
    inner = add(inner, 1.0);
    Tensor product = mul(half, inner);
    half.reset();  // Python lets go of a product's left operand first
    return product;
}

// FastGELUActivation.forward: 0.5 * x * (1 + tanh(x * 0.79788 * (1 + 0.044715 * x * x))).
Tensor fast_gelu(const Tensor& x) {
    const Tensor half = mul(x, 0.5);
    Tensor inner;
    {
        const Tensor scaled = mul(x, 0.79788);
        Tensor cubic = mul(x, 0.044715);
        cubic = mul(cubic, x);
        cubic = add(cubic, 1.0);
        inner = mul(scaled, cubic);
    }
    inner = tanh(inner);
    inner = add(inner, 1.0);
    return mul(half, inner);
}

}  // namespace

Tensor activate(const ModelSpec& spec, const Tensor& t) {
    switch (spec.hidden_act) {
        case Activation::silu: return silu(t);
        case Activation::gelu:
        case Activation::gelu_tanh: return gelu(t);
        case Activation::gelu_new: return new_gelu(t);
        case Activation::gelu_fast: return fast_gelu(t);
        case Activation::relu: return relu(t);
        case Activation::relu2: return square(relu(t));  // ReLUSquaredActivation
    }
    return {};
}

namespace {

/// LigerSwiGLUMLP.forward, LigerGEGLUMLP.forward.
Tensor liger_mlp(const DecoderLayer& layer, const Tensor& x) {
    Tensor product;
    {
        const Tensor gate = forward(layer.gate, x);
        const Tensor up = forward(layer.up, x);
        product = liger_silu_mul(gate, up);
    }
    return forward(layer.down, product);
}

Tensor activated(const Run& run, const DecoderLayer& layer, const Tensor& product) {
    return called(&layer, Part::activation, product, [&run](const Tensor& given) { return activate(run.spec, given); });
}

Tensor gated(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    Tensor product = activated(run, layer, forward(layer.gate, x));
    {
        const Tensor up = forward(layer.up, x);
        product = mul(product, up);
    }
    return forward(layer.down, product);
}

Tensor plain(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    Tensor hidden = forward(layer.up, x);
    hidden = activated(run, layer, hidden);
    return forward(layer.down, hidden);
}

}  // namespace

// models/llama/modeling_llama.py LlamaMLP.
Tensor gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    const InModule scope(run.session, parent_of(layer.down.name));
    if (uses_liger(run)) return liger_mlp(layer, x);
    return called(&layer, Part::mlp, x, [&](const Tensor& given) { return gated(run, layer, given); });
}

// models/seed_oss/modeling_seed_oss.py SeedOssMLP.
Tensor dropped_gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    const InModule scope(run.session, parent_of(layer.down.name));
    return called(&layer, Part::mlp, x, [&](const Tensor& given) {
        Tensor down = gated(run, layer, given);
        down = dropout(down, run.spec.residual_dropout);
        return down;
    });
}

// models/phi3/modeling_phi3.py Phi3MLP: the product takes the name of one half, whose storage the other half holds.
Tensor fused_gated_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    const InModule scope(run.session, parent_of(layer.down.name));
    return called(&layer, Part::mlp, x, [&](const Tensor& given) {
        Tensor up = forward(layer.gate_up, given);
        const std::vector<Tensor> halves = chunk(up, 2, -1);
        if (uses_liger(run)) {  // LigerPhi3SwiGLUMLP.forward
            up.reset();
            return forward(layer.down, liger_silu_mul(halves[0], halves[1]));
        }
        up = mul(halves[1], activated(run, layer, halves[0]));
        Tensor out = forward(layer.down, up);
        up.reset();  // local variables go in the order of their names
        return out;
    });
}

// models/gpt_neox/modeling_gpt_neox.py GPTNeoXMLP.
Tensor plain_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    const InModule scope(run.session, parent_of(layer.down.name));
    return called(&layer, Part::mlp, x, [&](const Tensor& given) { return plain(run, layer, given); });
}

// models/gpt2/modeling_gpt2.py GPT2MLP, models/starcoder2/modeling_starcoder2.py Starcoder2MLP.
Tensor dropped_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    const auto dropped = [&run](const Tensor& given) { return dropout(given, run.spec.residual_dropout); };
    const InModule scope(run.session, parent_of(layer.down.name));
    return called(&layer, Part::mlp, x, [&](const Tensor& given) {
        const Tensor out = plain(run, layer, given);
        return run.spec.model_type == "gpt2" ? called(&layer, Part::dropout, out, dropped) : dropped(out);
    });
}

}  // namespace vramfit::model
