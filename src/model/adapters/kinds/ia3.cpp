// peft 0.21.2 tuners/ia3/layer.py Linear and bnb.py Linear4bit, Linear8bitLt.
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "spec/adapters/read.hpp"

namespace vramfit::model {

using namespace engine;

void create_ia3(const NewAdapter& made) {
    made.adapter.scales_input = is_feedforward(made.run.spec, made.plan(), made.target.module.name);
    if (made.adapter.scales_input)
        made.add("ia3_l.default", {1, made.layer.in});
    else
        made.add("ia3_l.default", {made.layer.out, 1});
}

namespace {

/// ia3_scaling = 1; ia3_scaling *= l.flatten().
Tensor scaling_of(const OtherAdapter& adapter) { return mul(reshape(adapter[0], {-1}), 1); }

Tensor ia3_dense(const Linear& layer, const Tensor& x, const Tensor& scaling) {
    if (layer.other->scales_input) {
        const Tensor input = to(x, scaling.dtype());
        const Tensor scaled = to(mul(input, scaling), x.dtype());
        return base_layer(layer, scaled);
    }
    const Tensor result = base_layer(layer, x);
    return to(mul(result, scaling), result.dtype());
}

Tensor ia3_packed(const Linear& layer, const Tensor& x, const Tensor& scaling) {
    const bool convert = !x.session().autocast.enabled && x.dtype() != DType::float32;
    const Tensor input = convert ? to(x, DType::float32) : x;
    Tensor result;
    DType expected;
    if (layer.other->scales_input) {
        result = base_layer(layer, mul(input, scaling));
        expected = result.dtype();
    } else {
        result = base_layer(layer, input);
        expected = result.dtype();
        result = mul(result, scaling);
    }
    if (layer.quantized) result = clone(result);
    return convert ? to(result, expected) : result;
}

}  // namespace

Tensor ia3(const Linear& layer, const Tensor& x) {
    const Tensor scaling = scaling_of(*layer.other);
    return is_packed(layer) ? ia3_packed(layer, x, scaling) : ia3_dense(layer, x, scaling);
}

}  // namespace vramfit::model
