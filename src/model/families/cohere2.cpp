// The family cohere2: transformers models/cohere2/modeling_cohere2.py.
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "model/decoder_layer.hpp"
#include "model/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// Cohere2LayerNorm.forward.
Tensor centred_norm(const Norm& norm, const Tensor& input) {
    Tensor hidden = to(input, DType::float32);
    const Tensor mean = mean_last(hidden);
    Tensor variance;
    {
        Tensor squared = sub(hidden, mean);
        squared = square(squared);
        variance = mean_last(squared);
    }
    {
        const Tensor centred = sub(hidden, mean);
        Tensor scale = add(variance, 1e-5);
        scale = rsqrt(scale);
        hidden = mul(centred, scale);
    }
    {
        const Tensor weight = to(norm.weight, DType::float32);
        hidden = mul(weight, hidden);
    }
    return to(hidden, input.dtype());
}

// Cohere2DecoderLayer.forward: what attention and MLP gave keeps its names.
Tensor cohere2_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                     const LayerInputs& inputs) {
    Tensor hidden = family.norm(layer.input_norm, input);
    const auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    const Tensor fed = family.mlp(run, layer, hidden);
    hidden = add(input, attended);
    return add(hidden, fed);
}

// Cohere2ForCausalLM.forward: logits * logit_scale.
Tensor scaled_logits(const Run&, Tensor logits) { return mul(logits, 0.0625); }

}  // namespace

extern const Family cohere2_entry;
const Family cohere2_entry = {
    .model_type = "cohere2",
    .norm = centred_norm,
    .layer = cohere2_layer,
    .rotate = apply_rotary_in_float32,
    .shape_logits = scaled_logits,
};

}  // namespace vramfit::families
