// bitsandbytes' 4-bit layers: quantization of a weight, forward and backward of a layer.
#pragma once

#include "engine/session.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

/// bitsandbytes.functional.quantize_4bit of a weight that is on the device. `dynamic_code` is the library's shared
/// code table, made when it is first needed.
QuantState4bit quantize_4bit(const Tensor& weight, const QuantizationPlan& plan, Tensor& dynamic_code);

/// bitsandbytes.functional.dequantize_4bit: in the dtype that was quantized; `shape` is the weight's.
Tensor dequantize_4bit(engine::Session& session, const QuantState4bit& state, const engine::Dims& shape);

/// bitsandbytes.nn.Linear4bit.forward.
Tensor linear_4bit(const Linear& layer, const Tensor& x);

}  // namespace vramfit::model
