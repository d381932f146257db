// bitsandbytes' 8-bit layers (LLM.int8()).
#pragma once

#include "model/network.hpp"

namespace vramfit::model {

/// bitsandbytes nn/modules.py Int8Params._quantize of a weight in host memory.
State8bit quantize_8bit(engine::Session& session, const engine::Dims& sizes, double threshold);

/// bitsandbytes.functional.int8_vectorwise_dequant: float32.
Tensor dequantize_8bit(const State8bit& state);

/// bitsandbytes.nn.Linear8bitLt.forward.
Tensor linear_8bit(const Linear& layer, const Tensor& x);

}  // namespace vramfit::model
