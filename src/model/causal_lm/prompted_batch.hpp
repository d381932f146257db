// Rows with peft's virtual tokens in front of them.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// What PeftModelForCausalLM.forward makes of a batch, and holds until the network has run.
struct PromptedBatch {
    Batch batch;
    Tensor prefix_mask;    ///< [B, N] float32
    Tensor prefix_labels;  ///< [B, N] int64
    Tensor prompts;        ///< [B, N, H]
    KvCachePointer cache;  ///< of prefix tuning: keys and values of the virtual tokens
};

/// Prompt tuning and P-tuning: rows of embeddings that begin with the virtual tokens. Prefix tuning: a cache that holds
/// them.
PromptedBatch prompted(const Run& run, const Network& network, const Batch& batch, const Place& place);

}  // namespace vramfit::model
