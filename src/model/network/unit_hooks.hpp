// What a library hangs around single modules: hooks of torch.nn.Module before and after their forward.
#pragma once

#include <cstddef>

#include "engine/tensor.hpp"

namespace vramfit::model {

/// The modules of a causal language model that are gathered as units, in the order in which they run.
class UnitHooks {
  public:
    virtual ~UnitHooks() = default;

    /// Whether a layer's hooks lie around what checkpoints it, and do not run again when it is recomputed.
    virtual bool around_checkpoints() const { return false; }

    virtual void before_embedding() = 0;
    virtual void after_embedding(const engine::Tensor& embedded) = 0;
    /// Returns what the layer is called with.
    virtual engine::Tensor before_layer(std::size_t layer, const engine::Tensor& hidden) = 0;
    virtual void after_layer(std::size_t layer, const engine::Tensor& hidden) = 0;
    /// The last norm and the head; they return what these are called with.
    virtual engine::Tensor before_norm(const engine::Tensor& hidden) = 0;
    virtual engine::Tensor before_head(const engine::Tensor& hidden) = 0;
    virtual void after_head(const engine::Tensor& logits) = 0;
    /// What stays from one call of the network to the next; null or undefined: nothing.
    virtual engine::Tensor* held() { return nullptr; }
    /// Whether a layer's hooks cast all that it is given.
    virtual bool casts_arguments() const { return false; }
    /// What all of them make of a floating-point tensor that a module is given.
    virtual engine::Tensor cast(const engine::Tensor& given) { return given; }
    /// The head's weight or bias, for a loss that computes with it while the head itself does not run.
    virtual engine::Tensor head_weight(const engine::Tensor& weight) { return weight; }
};

}  // namespace vramfit::model
