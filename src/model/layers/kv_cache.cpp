// transformers 5.17 cache_utils.py DynamicLayer.update, DynamicSlidingWindowLayer.update.
#include "model/layers/kv_cache.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/view.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// states[:, :, -window + 1:, :]: a view, which keeps the whole.
Tensor last_places(const Tensor& states, Size window) {
    const Size length = states.size(2);
    return slice(states, 2, std::max<Size>(0, length - window + 1), length);
}

}  // namespace

// lazy_initialization makes two empty tensors of the key's dtype; torch.cat with one of them is a contiguous copy.
void KvCache::update(std::size_t layer, std::optional<Size> window, Tensor& key, Tensor& value) {
    Layer& cached = layers_.at(layer);
    const bool slides = window.has_value();
    cached.places = window;
    if (slides && !cached.window.defined()) cached.window = to_device(host_tensor(key.session(), {}, DType::int64));
    const DType dtype = key.dtype();  // lazy_initialization: the values' too
    const auto joined = [dtype](const Tensor& before, const Tensor& states) {
        Dims none = states.sizes();
        none[2] = 0;
        const Tensor first = before.defined() ? before : empty(states.session(), none, dtype);
        const Tensor parts[2] = {first, states};
        return cat(parts, 2);
    };
    const Tensor keys = joined(cached.keys, key);
    if (!slides) cached.keys = keys;
    const Tensor values = joined(cached.values, value);
    if (slides) cached.keys = last_places(keys, *window);  // a sliding layer joins both before it lets the old ones go
    cached.values = slides ? last_places(values, *window) : values;
    key = keys;
    value = values;
}

void KvCache::keep(const DecoderLayer& layer, const Tensor& key, const Tensor& value) {
    layers_[static_cast<std::size_t>(layer.index)] = {key, value, {}, {}};
}

}  // namespace vramfit::model
