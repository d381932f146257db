// Linear layers: plain, quantized, adapted.
#include "engine/autocast.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/adapters/adapters.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "model/quantizers/int8.hpp"
#include "model/quantizers/quantized.hpp"

namespace vramfit::model {

namespace {

// transformers 5.17 pytorch_utils.py Conv1D.forward; under autocast the last argument is cast first.
Tensor conv1d(const Linear& layer, const Tensor& x) {
    const Tensor flat = engine::view(x, {-1, x.size(-1)});
    const Tensor weight = engine::autocast_to_lower(layer.weight);
    const Tensor input = engine::autocast_to_lower(flat);
    const Tensor bias = engine::autocast_to_lower(layer.bias);
    const Tensor out = engine::addmm(bias, input, weight);
    return engine::view(out, {x.size(0), x.size(1), layer.out});
}

// transformers 5.17.0 models/falcon/modeling_falcon.py FalconLinear.forward: without a bias as nn.Linear, but under
// autocast the transposed weight is cast, which is no leaf and so not kept.
Tensor product(const Linear& layer, const Tensor& x) {
    const Tensor out = engine::matmul(x, engine::transpose2d(layer.weight));
    return layer.has_bias ? engine::add(out, layer.bias) : out;
}

}  // namespace

Tensor base_forward(const Linear& layer, const Tensor& x) {
    if (layer.quantized) return linear_4bit(layer, x);
    if (layer.in_8bit) return linear_8bit(layer, x);
    if (layer.is_conv1d) return conv1d(layer, x);
    if (layer.cut != Cut::none) return cut_linear(layer, x);
    if (layer.is_product) return product(layer, x);
    return functional_linear(x, layer.weight, layer.bias);
}

Tensor functional_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    engine::ModuleHooks* const hooks = x.session().module_hooks;
    return hooks ? hooks->linear(x, weight, bias) : engine::linear(x, weight, bias);
}

Tensor forward(const Linear& layer, const Tensor& x) {
    return called_module(layer, x, [&layer](const Tensor& given) {
        if (layer.other) return layer.other->forward(layer, given);
        if (!layer.lora) return base_forward(layer, given);
        if (!layer.lora->off) return lora_linear(layer, given);
        return called(&layer, Part::base_layer, given, [&](const Tensor& to) { return base_forward(layer, to); });
    });
}

}  // namespace vramfit::model
