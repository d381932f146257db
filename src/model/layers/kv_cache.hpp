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
    void update(std::size_t layer, std::optional<Size> window, Tensor& key, Tensor& value);
    void update(const DecoderLayer& layer, std::optional<Size> window, Tensor& key, Tensor& value) {
        if (layer.attention != LayerAttention::sliding) window.reset();
        update(static_cast<std::size_t>(layer.index), window, key, value);
    }

    /// The same in transformers 4.40: a layer's first keys and values are kept as they are.
    void keep(const DecoderLayer& layer, const Tensor& key, const Tensor& value);

    struct Layer {
        Tensor keys;
        Tensor values;
        Tensor window;               ///< DynamicSlidingWindowLayer._sliding_window_tensor
        std::optional<Size> places;  ///< of such a layer: its window

        /// Whether it has as much as it keeps, so that a further token adds nothing.
        bool is_full() const { return places && keys.size(2) >= *places - 1; }
    };
    std::vector<Layer>& layers() { return layers_; }

    /// Tokens of the forward passes that are over.
    const Size& tokens() const { return tokens_; }
    void add_tokens(const Size& tokens) { tokens_ = tokens_ + tokens; }

  private:
    std::vector<Layer> layers_;
    Size tokens_ = 0;
};

using KvCachePointer = std::shared_ptr<KvCache>;

}  // namespace vramfit::model
