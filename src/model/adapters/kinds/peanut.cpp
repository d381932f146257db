// peft 0.21.2 tuners/peanut/layer.py Linear.
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

// Encoders and decoders are named alike: nobody asks for one of them alone.
void create_peanut(const NewAdapter& made) {
    const auto depth = static_cast<int>(made.plan().options.depth);
    int module = 0;
    made.add("peanut_A.default.weight", {made.rank, made.layer.out}, ++module);
    made.add("peanut_B.default.weight", {made.layer.out, made.rank}, ++module);
    for (const std::string_view name : {"peanut_encoders.default.weight", "peanut_decoders.default.weight"})
        for (int i = 0; i < depth; ++i) made.add(name, {made.rank, made.rank}, ++module);
}

namespace {

Tensor activated(const OtherAdapter& adapter, const Tensor& t) {
    const std::string& name = adapter.plan->options.act_fn;
    if (name == "silu") return silu(t);
    return name == "gelu" ? gelu(t) : relu(t);
}

/// _compute_delta_weight: the weight itself goes through a small network.
Tensor delta_weight(const Linear& layer) {
    const OtherAdapter& adapter = *layer.other;
    const auto depth = static_cast<std::size_t>(adapter.plan->options.depth);
    const Tensor weight = to(transpose2d(layer.weight), adapter[0].dtype());
    Tensor t = activated(adapter, matmul(weight, transpose2d(adapter[0])));
    std::vector<Tensor> residuals;
    for (std::size_t i = 0; i < depth; ++i) {
        residuals.push_back(t);
        t = activated(adapter, functional_linear(t, adapter[2 + i]));
    }
    for (std::size_t i = 0; i < depth; ++i) {
        t = activated(adapter, functional_linear(t, adapter[2 + depth + i]));
        t = add(t, residuals[depth - 1 - i]);
    }
    t = functional_linear(t, adapter[1]);
    return transpose2d(mul(t, 1.0));
}

}  // namespace

Tensor peanut(const Linear& layer, const Tensor& x) {
    const Tensor result = base_layer(layer, x);
    const Tensor weight = delta_weight(layer);
    const Tensor input = to(x, weight.dtype());
    const Tensor delta = matmul(input, transpose2d(weight));
    return add(result, to(delta, result.dtype()));
}

}  // namespace vramfit::model
