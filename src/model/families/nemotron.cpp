// The family nemotron: transformers models/nemotron/modeling_nemotron.py.
#include "engine/ops/copy.hpp"
#include "engine/ops/layer_norm.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// NemotronLayerNorm1P.forward: the weight plus one; under autocast everything is cast first, then nothing is.
Tensor plus_one(const Norm& norm, const Tensor& input) {
    Session& session = input.session();
    Tensor plus = add(norm.weight, 1.0);
    if (!session.autocast.enabled) return engine::layer_norm(input, plus, norm.bias);
    const DType dtype = session.autocast.dtype;
    const Tensor x = to(input, dtype);
    const Tensor weight = to(plus, dtype);
    const Tensor bias = to(norm.bias, dtype);
    plus = Tensor();  // an argument of _cast_if_autocast_enabled
    const Scoped<bool> off(session.autocast.enabled, false);
    return engine::layer_norm(x, weight, bias);
}

Tensor norm_of_one_plus(const Norm& norm, const Tensor& given) {
    return called_module(norm, given, [&norm](const Tensor& input) { return plus_one(norm, input); });
}

}  // namespace

extern const Family nemotron_entry;
const Family nemotron_entry = {
    .model_type = "nemotron",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = norm_of_one_plus,
    .layer = pre_norm_layer,
    .rotate = apply_rotary_and_join,
    .mlp = plain_mlp,
    .split_plan = SplitPlan::none,
    .positions_before_tables = true,
};

}  // namespace vramfit::families
