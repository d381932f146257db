// The family gemma3_text: transformers models/gemma3/modeling_gemma3.py.
#include "engine/ops/view.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// Gemma3Attention.forward: norms on queries and keys behind the transpose.
Projected normed_heads(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden) {
    const auto heads = [&](const Linear& linear) {
        const Tensor t = forward(linear, hidden);
        return transpose(view(t, {t.size(0), t.size(1), -1, run.spec.head_dim}), 1, 2);
    };
    Tensor q = heads(layer.q);
    Tensor k = heads(layer.k);
    const Tensor v = heads(layer.v);
    q = normalize_heads(run, family, layer.q_norm, q);
    k = normalize_heads(run, family, layer.k_norm, k);
    return {q, k, v, {}};
}

}  // namespace

extern const Family gemma3_text_entry;
const Family gemma3_text_entry = {
    .model_type = "gemma3_text",
    .compared = {.tensor_parallelism = true},
    .norm = gemma_norm,
    .layer = four_norm_layer,
    .project = normed_heads,
    .rotary_by_type = true,
    .scales_embedding = true,
    .embedding_scales_itself = true,
    .shape_logits = cap_logits,
    .masks_from_dictionary = true,
};

}  // namespace vramfit::families
