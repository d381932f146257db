// The Llama decoder layer, shared by the families that took it over.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

Tensor llama_attention(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const LayerInputs& inputs);
Tensor llama_layer(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const LayerInputs& inputs);

}  // namespace vramfit::model
