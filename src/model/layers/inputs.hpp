// What the forward pass of one batch shares between its layers.
#pragma once

#include "model/layers/kv_cache.hpp"
#include "model/network/run.hpp"

namespace vramfit::model {

/// cos and sin of the rotary embedding, [1 or B, S, D] each.
struct Rotary {
    Tensor cos;
    Tensor sin;
};

/// Masks by kind of layer; undefined where the kernel's causal flag does it.
struct Masks {
    Tensor full;
    Tensor sliding;
    Size seen_full = 0, seen_sliding = 0;  ///< flash_attention_2: tokens that are no padding
};

/// Shared by all layers of one forward pass.
struct LayerInputs {
    Rotary rotary;          ///< empty where each layer makes its own (transformers before 4.45)
    Rotary sliding_rotary;  ///< gemma3: of the layers that slide
    Masks masks;
    Tensor position_ids;
    KvCachePointer cache;              ///< past_key_values; null without a cache
    const Network* network = nullptr;  ///< where each layer makes its rotary tables
};

}  // namespace vramfit::model
