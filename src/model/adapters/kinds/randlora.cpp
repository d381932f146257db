// peft 0.21.2 tuners/randlora/layer.py Linear and UniqueBaseGrad, tuners/randlora/bnb.py, model.py
// _init_randlora_A_randlora_B.
#include <algorithm>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

std::int64_t smaller_side(const Linear& layer) {
    return std::min(static_cast<std::int64_t>(layer.in), static_cast<std::int64_t>(layer.out));
}

}  // namespace

// The projections are as large as the largest layers need together.
void create_randlora(const NewAdapter& made) {
    const std::int64_t side = smaller_side(made.layer);
    made.add("randlora_lambda.default", {made.rank, ceil_div(side, made.rank)});
    made.add("randlora_gamma.default", {ceil_div(side, made.rank), side});
    const auto [in, out] = made.largest_sides();
    made.share(
        {{made.rank, 1, std::min(in, out)}, {std::max(in, out), ceil_div(std::min(in, out), made.rank), made.rank}});
}

namespace {

// UniqueBaseGrad.backward: two einsums of three operands, from left to right; each ends in one batched product.
void scaled_backward(Node& node, Grads& in, Grads& out) {
    for (std::size_t i = 0; i < 3; ++i) node.unpack(i);
    const Tensor& grad = in[0];
    const Size rank = grad.size(0), bases = grad.size(1), side = grad.size(2);
    const auto summed = [&](const Dims& sizes, const Dims& strides) {
        const Tensor product = empty(*node.session, grad.sizes(), grad.dtype(), Op::mul);
        return empty_strided(*node.session, sizes, strides, grad.dtype(), Op::bmm);
    };
    out[0] = summed({rank, bases}, {1, rank});  // "kb" of a product [b, k]
    out[1] = summed({bases, side}, {side, 1});
}
const NodeType kScaledBackward{"UniqueBaseGradBackward", scaled_backward};

/// UniqueBaseGrad.forward: lambda[:, :, None] * A * gamma[None] -- [r, bases, side].
Tensor scaled(const Tensor& base, const Tensor& lambda, const Tensor& gamma) {
    Session& session = base.session();
    Tensor out;
    {
        const GradMode no_grad(session, false);
        const Tensor product = mul(unsqueeze(lambda, 2), base);
        out = mul(product, unsqueeze(gamma, 0));
    }
    if (!needs_grad(lambda, gamma)) return out;
    const Ref<Node> node = make_node(session, kScaledBackward);
    add_edge(*node, lambda);
    add_edge(*node, gamma);
    for (const Tensor& t : {base, lambda, gamma}) node->save(t);
    set_history(out, node);
    return out;
}

struct Bases {
    Tensor first;   ///< [r * bases, in]
    Tensor second;  ///< [out, r * bases]
};

Bases scaled_bases(const Linear& layer) {
    const OtherAdapter& adapter = *layer.other;
    const std::int64_t side = smaller_side(layer);
    const Size larger = layer.in + layer.out - side;
    const Size bases = adapter[0].size(1);
    const Tensor a = slice((*adapter.shared)[0], 2, 0, side);
    const Tensor b = slice(slice((*adapter.shared)[1], 0, 0, larger), 1, 0, bases);
    const Tensor flat_b = reshape(b, {larger, -1});
    const Tensor flat_a = reshape(scaled(a, adapter[0], adapter[1]), {-1, side});
    if (static_cast<std::int64_t>(layer.in) == side) return {flat_a, flat_b};
    return {transpose2d(flat_b), transpose2d(flat_a)};
}

}  // namespace

Tensor randlora(const Linear& layer, const Tensor& x) {
    Tensor result = base_layer_cloned(layer, x);
    const Bases bases = scaled_bases(layer);
    const Tensor input = to(x, bases.second.dtype());
    Tensor t = dropout(input, layer.other->dropout);
    t = functional_linear(t, bases.first);
    t = functional_linear(t, bases.second);
    const Tensor kept = is_packed(layer) ? t : Tensor();  // bnb.py has a name for it
    t = mul(t, 1.0);
    result = add(result, t);
    t.reset();
    return to(result, x.dtype());
}

}  // namespace vramfit::model
