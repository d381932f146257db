// What a model family adds: the forward pass of a decoder layer and what surrounds the stack of layers.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

/// One family of decoders. Each has its file in families/.
struct Family {
    const char* model_type;
    /// DecoderLayer.forward: hidden -- [B, S, H].
    Tensor (*layer)(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const LayerInputs& inputs);
    /// Between the embedding's result and the first layer.
    Tensor (*scale_embedding)(const Run& run, const Tensor& embedded);
    /// The final norm.
    Tensor (*final_norm)(const Norm& norm, const Tensor& hidden);
    /// Between the head's result and the loss.
    Tensor (*shape_logits)(const Run& run, const Tensor& logits);
};

/// Throws Error (unsupported) for a type without a file.
const Family& family_of(const std::string& model_type);

}  // namespace vramfit::model
