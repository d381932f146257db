// Linear layers: plain, quantized, adapted.
#include "engine/ops/matmul.hpp"
#include "model/adapters.hpp"
#include "model/int8.hpp"
#include "model/modules.hpp"
#include "model/quantized.hpp"

namespace vramfit::model {

Tensor base_forward(const Linear& layer, const Tensor& x) {
    if (layer.quantized) return linear_4bit(layer, x);
    if (layer.in_8bit) return linear_8bit(layer, x);
    return engine::linear(x, layer.weight, layer.bias);
}

Tensor forward(const Linear& layer, const Tensor& x) {
    return layer.lora ? lora_linear(layer, x) : base_forward(layer, x);
}

}  // namespace vramfit::model
