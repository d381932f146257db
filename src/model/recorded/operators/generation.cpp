// What generating programs call by name: a layer's cache, and the functions that make masks.
#include "spec/network/rewritten/generation.hpp"

#include "model/layers/masks/masks.hpp"
#include "model/recorded/operators.hpp"
#include "spec/network/model.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

std::vector<Tensor> cached(const Arguments& a) {
    RecordedCache& given = a.cache();
    Tensor key = a.tensor(0), value = a.tensor(1);
    const auto layer = static_cast<std::size_t>(network::layer_of(a.path()));
    std::optional<Size> window;
    if (const auto& places = given.document.windows.at(layer)) window = *places;
    if (given.cache) given.cache->update(layer, window, key, value);
    *given.keys = key.size(2);
    return {key, value};
}

Tensor masked(const Arguments& a) {
    const RecordedCache& given = a.cache();
    std::optional<Size> window;
    if (a.at(1).is(network::Argument::Kind::integer)) window = Size(a.at(1).integer);
    return mask_with_cache(a.run(), given.batch, given.cache, window);
}

constexpr NamedOperator kGeneration[] = {
    {network::kCacheUpdate, cached},
    {network::kCausalMask, masked},
};

}  // namespace

std::span<const NamedOperator> generation_operators() { return kGeneration; }

}  // namespace vramfit::model::recorded
