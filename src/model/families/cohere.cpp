// The family cohere: transformers models/cohere/modeling_cohere.py.
#include "engine/ops/view.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

namespace {

// CohereAttention.forward: norms on the heads' vectors come when all three are projected.
Projected project_then_norm(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden) {
    const auto heads = [&](const Tensor& t) { return engine::view(t, {t.size(0), t.size(1), -1, run.spec.head_dim}); };
    Tensor q = heads(forward(layer.q, hidden));
    Tensor k = heads(forward(layer.k, hidden));
    const Tensor v = heads(forward(layer.v, hidden));
    if (layer.q_norm.width > 0) {
        q = family.norm(layer.q_norm, q);
        k = family.norm(layer.k_norm, k);
    }
    return {engine::transpose(q, 1, 2), engine::transpose(k, 1, 2), engine::transpose(v, 1, 2), {}};
}

}  // namespace

extern const Family cohere_entry;
const Family cohere_entry = {
    .model_type = "cohere",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = centred_norm,
    .layer = side_by_side_layer,
    .project = project_then_norm,
    .rotate = apply_rotary_in_float32,
    .shape_logits = scale_logits,
    .tables_of_neighbours = true,
};

}  // namespace vramfit::families
