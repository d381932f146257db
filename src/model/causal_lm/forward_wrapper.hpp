// What lies around the network's forward where a loss calls the network itself: DDP's and FSDP's own.
#pragma once

#include <functional>
#include <span>

#include "engine/tensor.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

/// Empty: nothing.
struct ForwardWrapper {
    /// It is the network's own, around whatever calls it: trl's reference without adapters too.
    bool shards = false;
    std::function<void()> before;
    /// `scored` is what the loss is made of, one of `outputs`, which may be replaced.
    std::function<void(Tensor& scored, std::span<Tensor* const> outputs)> after;
};

}  // namespace vramfit::model
