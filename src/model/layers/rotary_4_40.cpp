// transformers 4.40.2 models/{llama,gemma,mistral}/modeling_*.py: XRotaryEmbedding.forward.
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/attention/attention_4_40.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// GemmaRotaryEmbedding: 1.0 / (base ** (arange(0, dim, 2).float() / dim)).
Tensor gemma_frequencies(Session& session, Size count) {
    Tensor exponents = arange(session, count);
    exponents = to(exponents, DType::float32);
    exponents = div(exponents, 1);
    Tensor powers = pointwise_result(exponents, DType::float32, Op::pow);
    { const Tensor base = empty(session, {}, DType::float64, Op::scalar_tensor); }
    exponents.reset();
    const Tensor inverse = reciprocal(powers);
    return mul(inverse, 1.0);
}

/// MistralRotaryEmbedding._set_cos_sin_cache, for more positions than the tables have.
void grow_tables(const Network& network, std::size_t layer, const Tensor& value) {
    const Size length = value.size(2);
    Tensor t = arange(value.session(), length);
    t = to(t, DType::float32);
    const Tensor freqs = mul(unsqueeze(t, 1), network.layer_buffers[layer]);
    const Tensor twice[2] = {freqs, freqs};
    const Tensor emb = cat(twice, -1);
    const auto table = [&](const Tensor& values) { return to(values, value.dtype()); };
    network.rotary_caches[2 * layer] = table(cos(emb));
    network.rotary_caches[2 * layer + 1] = table(sin(emb));
}

Rotary slices_of_tables(const DecoderLayer& layer, const Tensor& value, const Network& network, Size further) {
    const auto i = static_cast<std::size_t>(layer.index);
    const Size length = value.size(2) + further;
    if (value.session().decide("rotary tables grow", length > network.rotary_caches[2 * i].size(0)))
        grow_tables(network, i, value);
    const Tensor cosine = to(slice(network.rotary_caches[2 * i], 0, 0, length), value.dtype());
    const Tensor sine = to(slice(network.rotary_caches[2 * i + 1], 0, 0, length), value.dtype());
    return {cosine, sine};
}

}  // namespace

Rotary rotary_4_40(const Family& family, const DecoderLayer& layer, const Tensor& value, const LayerInputs& inputs,
                   Size further) {
    Session& session = value.session();
    const Network& network = *inputs.network;
    if (family.rotary_modules(session.stack).by_position) return slices_of_tables(layer, value, network, further);
    const GradMode no_grad(session, false);
    const auto i = static_cast<std::size_t>(layer.index);
    if (network.layer_buffers.size() <= i)
        network.layer_buffers.push_back(gemma_frequencies(session, value.size(3) / 2));
    const Tensor& inv_freq = network.layer_buffers[i];
    Tensor ids = inputs.position_ids;
    if (network.spec->rope_type == "linear") {  // LlamaLinearScalingRotaryEmbedding
        ids = to(ids, DType::float32);
        ids = div(ids, 1.0);
    }
    const Tensor frequencies = expand(unsqueeze(unsqueeze(inv_freq, 0), 2), {ids.size(0), inv_freq.size(0), 1});
    const Tensor positions = to(unsqueeze(ids, 1), DType::float32);
    const Scoped<bool> no_autocast(session.autocast.enabled, false);
    const Tensor freqs = transpose(matmul(frequencies, positions), 1, 2);
    const Tensor twice[2] = {freqs, freqs};
    const Tensor emb = cat(twice, -1);
    const Tensor cosine = cos(emb);
    const Tensor sine = sin(emb);
    const Tensor cosine_cast = to(cosine, value.dtype());
    const Tensor sine_cast = to(sine, value.dtype());
    return {cosine_cast, sine_cast};
}

}  // namespace vramfit::model
