// transformers 4.45 to 5.17 models/llama/modeling_llama.py: LlamaRotaryEmbedding, rotate_half, apply_rotary_pos_emb.
#include "model/rotary.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"

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

}  // namespace

Rotary rotary_tables(const Tensor& inv_freq, const Tensor& x, const Tensor& position_ids) {
    Session& session = x.session();
    const GradMode no_grad(session, false);
    const std::int64_t batch = position_ids.size(0);
    const Tensor frequencies = expand(unsqueeze(unsqueeze(inv_freq, 0), 2), {batch, inv_freq.size(0), 1});
    const Tensor positions = to(unsqueeze(position_ids, 1), DType::float32);
    const Scoped<bool> no_autocast(session.autocast.enabled, false);
    const Tensor freqs = transpose(matmul(frequencies, positions), 1, 2);
    const Tensor twice[2] = {freqs, freqs};
    const Tensor emb = cat(twice, -1);
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
