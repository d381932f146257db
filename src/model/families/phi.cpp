// The family phi: transformers models/phi/modeling_phi.py.
#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

Tensor sum_of(const Tensor& attended, const Tensor& fed, const Tensor& residual) {
    return add(add(attended, fed), residual);
}

// PhiDecoderLayer.forward: attention and MLP side by side behind one norm; what they gave keeps its names.
Tensor phi_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                 const LayerInputs& inputs) {
    Tensor hidden = family.norm(layer.input_norm, input);
    auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    const auto dropped = [&](const Tensor& t) {
        return called(&layer, Part::dropout, t,
                      [&run](const Tensor& given) { return dropout(given, run.spec.residual_dropout); });
    };
    attended = dropped(attended);
    const Tensor fed = dropped(family.mlp(run, layer, hidden));
    Tensor out = sum_of(attended, fed, input);
    hidden.reset();
    attended.reset();  // local variables go in the order of their names
    weights.reset();
    return out;
}

}  // namespace

extern const Family phi_entry;
const Family phi_entry = {
    .model_type = "phi",
    .rotary_before_norm = true,
    .compared = {.context_parallelism = true, .tensor_parallelism = true, .pipeline = false},
    .norm = layer_norm,
    .layer = phi_layer,
    .rotate_parts = apply_rotary_of_halves,
    .mlp = plain_mlp,
    .embedding_dropout = "embed_dropout",
    .positions_before_tables = true,
};

}  // namespace vramfit::families
