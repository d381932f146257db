// bitsandbytes' 8-bit layers (LLM.int8()).
#pragma once

#include "model/network/network.hpp"
#include "model/network/run.hpp"

namespace vramfit::model {

/// bitsandbytes nn/modules.py Int8Params._quantize of a weight in host memory.
State8bit quantize_8bit(engine::Session& session, const engine::Dims& sizes, double threshold);

/// Throws Error (unsupported) for a card without kernels for the layout that this version of bitsandbytes turns
/// weights into.
void check_8bit_layouts(const Run& run);

/// bitsandbytes.functional.int8_vectorwise_dequant: float32.
Tensor dequantize_8bit(const State8bit& state);

/// bitsandbytes.nn.Linear8bitLt.forward.
Tensor linear_8bit(const Linear& layer, const Tensor& x);

/// The same two of bitsandbytes up to 0.44, whose kernels want the weight turned.
State8bit quantize_8bit_by_rows_and_columns(engine::Session& session, const engine::Dims& sizes, double threshold);
Tensor linear_8bit_turned(const Linear& layer, const Tensor& x);

}  // namespace vramfit::model
