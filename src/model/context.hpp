// What the forward pass of one batch shares between its layers.
#pragma once

#include "engine/session.hpp"
#include "model/kv_cache.hpp"
#include "model/network.hpp"

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

/// The sizes that a question varies: plain numbers, or symbols while a formula is recorded.
struct RunSizes {
    Size batch;
    Size length;
    Size rank;  ///< of adapters without a rank of their own
};

/// One run: what the user asked for, and where it is recorded.
struct Run {
    engine::Session& session;
    const ModelSpec& spec;
    const TrainPlan& plan;
    const Stack& stack;
    RunSizes sizes;
    /// transformers 5.17 utils/output_capturing.py: while the decoder runs its routers put their logits here, if they
    /// are asked for; what is recomputed does not.
    mutable std::vector<Tensor>* router_logits = nullptr;

    /// What the attention is told: nothing is dropped in evaluation.
    double attention_dropout() const { return session.training ? spec.attention_dropout : 0.0; }
};

/// A batch on the device.
struct Batch {
    Tensor input_ids;          ///< [B, S] int64
    Tensor attention_mask;     ///< [B, S] int64, or undefined
    Tensor labels;             ///< [B, S] int64, or undefined
    Tensor inputs_embeds;      ///< [B, S, H]: given instead of token ids
    Tensor shift_labels = {};  ///< of a part of a sequence: labels are shifted before it is cut; undefined otherwise
    Tensor position_ids = {};  ///< the same
};

}  // namespace vramfit::model
