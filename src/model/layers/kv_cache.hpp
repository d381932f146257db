// The key-value cache that a forward pass fills where nothing switches it off.
#pragma once

#include <memory>
#include <vector>

#include "engine/tensor.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

/// transformers cache_utils.py DynamicCache: of one forward pass over whole rows, or of those that generate.
class KvCache {
  public:
    explicit KvCache(std::size_t layers) : layers_(layers) {}

    /// Cache.update: key and value -- [B, Hk, S, D] are rebound to the cached copies. A window is that of a layer that
    /// slides.
    void update(const DecoderLayer& layer, std::optional<Size> window, Tensor& key, Tensor& value);

    /// The same in transformers 4.40: a layer's first keys and values are kept as they are.
    void keep(const DecoderLayer& layer, const Tensor& key, const Tensor& value);

    struct Layer {
        Tensor keys;
        Tensor values;
        Tensor window;  ///< DynamicSlidingWindowLayer._sliding_window_tensor
    };
    std::vector<Layer>& layers() { return layers_; }

  private:
    std::vector<Layer> layers_;
};

using KvCachePointer = std::shared_ptr<KvCache>;

}  // namespace vramfit::model
