// transformers 4.45 to 5.17 models/llama/modeling_llama.py: LlamaRotaryEmbedding, rotate_half, apply_rotary_pos_emb.
#include "model/rotary.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor rotate_half(const Tensor& x) {
    const std::int64_t width = x.size(-1);
    const Tensor x1 = slice(x, -1, 0, width / 2);
    const Tensor x2 = slice(x, -1, width / 2, width);
    const Tensor halves[2] = {neg(x2), x1};
    return cat(halves, -1);
}

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin) {
    const Tensor straight = mul(x, cos);
    Tensor turned = rotate_half(x);
    turned = mul(turned, sin);
    return add(straight, turned);
}

/// _compute_dynamic_ntk_parameters with the length as a tensor.
Tensor dynamic_frequencies(const Tensor& length, std::int64_t count) {
    Session& session = length.session();
    Tensor base;
    {
        const Tensor limit = empty(session, {}, DType::int64, Op::to_copy);
        const Tensor longest = pointwise_result(length, DType::int64, Op::maximum);
        base = mul(longest, 1.0);
        base = div(base, 1);
        base = add(base, 1.0);
        base = pointwise_result(base, base.dtype(), Op::pow);
        base = mul(base, 1.0);
    }
    Tensor exponents = to_device(host_tensor(session, {count}, DType::float32));
    exponents = div(exponents, 1);
    const Tensor powers = pointwise_result(exponents, DType::float32, Op::pow);
    const Tensor inverse = reciprocal(powers);
    return mul(inverse, 1.0);
}

}  // namespace

// transformers 5.17 modeling_rope_utils.py dynamic_frequency_update; the host asks the device about the length.
void update_frequencies(const Network& network, const Tensor& position_ids) {
    const ModelSpec& spec = *network.spec;
    if (spec.rope_type == "longrope")
        throw Error(ErrorKind::unsupported, "model.rope_scaling",
                    "rotary embeddings of type longrope are not supported", "supported: linear, dynamic, yarn, llama3");
    if (spec.rope_type != "dynamic") return;
    Session& session = position_ids.session();
    const GradMode no_grad(session, false);
    Tensor length = reduce(position_ids, 3, false, DType::int64, Op::max);
    length = add(length, 1);
    { const Tensor grown = compare(Op::gt, length); }
    const std::int64_t positions = position_ids.size(-1);
    const std::int64_t before = std::max(network.rotary_positions, spec.max_position_embeddings);
    if (session.decide("rotary frequencies grow", positions > before)) {
        network.buffers[0] = dynamic_frequencies(length, spec.head_dim / 2);
        network.rotary_length = length;
        network.rotary_positions = positions;
    }
    { const Tensor shrunk = compare(Op::lt, length); }
    if (positions >= spec.max_position_embeddings || before <= spec.max_position_embeddings) return;
    if (network.rotary_length.defined()) const Tensor was_grown = compare(Op::gt, network.rotary_length);
    network.buffers[0] = network.buffers[1];
    network.rotary_length.reset();
    network.rotary_positions = 0;
}

Rotary rotary_tables(const Tensor& inv_freq, const Tensor& x, const Tensor& position_ids, bool half_tables) {
    Session& session = x.session();
    const GradMode no_grad(session, false);
    const std::int64_t batch = position_ids.size(0);
    const Tensor frequencies = expand(unsqueeze(unsqueeze(inv_freq, 0), 2), {batch, inv_freq.size(0), 1});
    const Tensor positions = to(unsqueeze(position_ids, 1), DType::float32);
    const Scoped<bool> no_autocast(session.autocast.enabled, false);
    const Tensor freqs = transpose(matmul(frequencies, positions), 1, 2);
    const Tensor twice[2] = {freqs, freqs};
    const Tensor emb = half_tables ? freqs : cat(twice, -1);
    Tensor cosine = cos(emb);
    cosine = mul(cosine, 1.0);
    Tensor sine = sin(emb);
    sine = mul(sine, 1.0);
    const Tensor cosine_cast = to(cosine, x.dtype());
    const Tensor sine_cast = to(sine, x.dtype());
    return {cosine_cast, sine_cast};
}

void apply_rotary(Tensor& q, Tensor& k, const Rotary& rotary) {
    const Tensor cos = unsqueeze(rotary.cos, 1);
    const Tensor sin = unsqueeze(rotary.sin, 1);
    const Tensor q_embed = rotate(q, cos, sin);
    const Tensor k_embed = rotate(k, cos, sin);
    q = q_embed;
    k = k_embed;
}

}  // namespace vramfit::model
