// peft 0.21.2 tuners/hra/layer.py HRALinear.
#include <vector>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

void create_hra(const NewAdapter& made) { made.add("hra_u.default", {made.layer.in, made.rank}); }

namespace {

Tensor eye(Session& session, Size n, DType dtype) { return empty(session, {n, n}, dtype, Op::eye); }

/// u[:, i].view(-1, 1).
Tensor column(const Tensor& u) { return view(select(u, 1), {-1, 1}); }

/// get_delta_weight without apply_GS: one reflection after the other.
Tensor reflections(const Tensor& parameter) {
    Session& session = parameter.session();
    Tensor u;
    {
        const Tensor length = vector_norm(parameter, 0);
        u = div(parameter, length);
    }
    Tensor weight = eye(session, u.size(0), u.dtype());
    Tensor ui;
    const auto rank = static_cast<std::int64_t>(u.size(1));
    for (std::int64_t i = 0; i < rank; ++i) {
        ui = column(u);
        Tensor t = mul(weight, 2);
        t = matmul(t, ui);
        t = matmul(t, transpose2d(ui));
        weight = sub(weight, t);
    }
    return weight;
}

}  // namespace

Tensor hra(const Linear& layer, const Tensor& x) {
    Tensor weight = eye(x.session(), layer.in, DType::float32);
    const Tensor delta = reflections((*layer.other)[0]);
    weight = matmul(weight, delta);
    const Tensor original = to(layer.weight, weight.dtype());
    weight = matmul(original, weight);
    const Tensor bias = layer.bias.defined() ? to(layer.bias, weight.dtype()) : Tensor();
    const Tensor input = to(x, weight.dtype());
    const Tensor result = functional_linear(input, weight, bias);
    return to(result, x.dtype());
}

}  // namespace vramfit::model
