// DoRA: adapters with a trained magnitude for each output.
#pragma once

#include "model/network/network.hpp"

namespace vramfit::model {

/// DoraLinearLayer.update_layer: the magnitudes [out] of a layer's weight.
Tensor dora_magnitude(const Linear& layer, const LoraAdapter& adapter);
/// DoraEmbeddingLayer's: [H].
Tensor dora_magnitude(const Embedding& layer, const LoraEmbeddingAdapter& adapter);

/// DoraLinearVariant.forward: x -- [..., in] in the adapter's dtype, result -- the layer's without adapter.
Tensor dora_linear(const Linear& layer, const Tensor& x, const Tensor& result);

/// DoraLinearLayer.forward: what is added to the result. x -- as it comes out of the dropout.
Tensor dora_delta(const Linear& layer, const Tensor& x, const Tensor& result);

/// DoraEmbeddingVariant.forward.
Tensor dora_embedding(const Embedding& layer, const Tensor& ids, const Tensor& result);

}  // namespace vramfit::model
