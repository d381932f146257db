// peft 0.21.2 tuners/delora/layer.py DeloraLinear.
#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

// reset_delora_parameters: the length of the weight's columns is made before the adapter is moved.
void create_delora(const NewAdapter& made) {
    {
        const GradMode no_grad(made.run.session, false);
        made.add_buffer(vector_norm(made.layer.weight, 0));
    }
    made.add("delora_A.default", {made.rank, made.layer.in});
    made.add("delora_B.default", {made.layer.out, made.rank});
    made.add("delora_lambda.default", {1});
}

namespace {

/// lambda / r / (the length of A's rows * that of B's columns).
struct DeloraScaling {
    Tensor of_a, of_b, scaling;
};

DeloraScaling delora_scaling(const OtherAdapter& adapter) {
    DeloraScaling out;
    out.of_a = clamp_below(vector_norm(adapter[0], 1));
    out.of_b = clamp_below(vector_norm(adapter[1], 0));
    const Tensor share = div(adapter[2], 1.0);
    out.scaling = div(share, mul(out.of_a, out.of_b));
    return out;
}

}  // namespace

Tensor delora(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor base = base_layer(layer, x);
    const Tensor added = zeros_like(base);
    const Tensor dropped = dropout(x, adapter.dropout);
    Tensor h = functional_linear(mul(dropped, adapter.buffers[0]), adapter[0]);
    const DeloraScaling by = delora_scaling(adapter);
    h = mul(h, by.scaling);
    h = functional_linear(h, adapter[1]);
    add_in_place(added, h);
    const Tensor result = add(base, to(added, base.dtype()));
    return to(result, x.dtype());
}

}  // namespace vramfit::model
