// The decoders of transformers 4.40: rotary tables in each layer, additive masks, keys and values in a cache.
#pragma once

#include "model/causal_lm/causal_lm.hpp"
#include "model/layers/family.hpp"

namespace vramfit::model {

/// LlamaModel.forward, GemmaModel.forward, MistralModel.forward, Qwen2Model.forward: the last hidden state.
/// `cache` may be null.
Tensor decoder_4_40(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
                    const Place& place);

}  // namespace vramfit::model
