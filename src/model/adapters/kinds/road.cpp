// peft 0.21.2 tuners/road/layer.py Linear, _prepare_cols and _apply_road; tuners/road/bnb.py.
#include <array>

#include "engine/autocast.hpp"
#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"

namespace vramfit::model {

using namespace engine;

// An angle and a length for each pair of outputs, for each output, or two for each.
void create_road(const NewAdapter& made) {
    const Size size = made.layer.out * made.plan().options.road_variant / 2;
    made.add("road_theta.default", {size});
    made.add("road_alpha.default", {size});
}

namespace {

struct Columns {
    Tensor first, second;  ///< [out]
};

/// Of two in each group, once for both.
Tensor for_pairs(const Tensor& t, std::int64_t half) {
    return view(repeat_interleave(view(t, {-1, half}), 2, 0), {-1});
}

/// One of both halves of groups: a copy.
Tensor part(const Tensor& t, std::int64_t group) { return reshape(select(view(t, {-1, 2, group}), 1), {-1}); }

Columns columns(const AdapterOptions& options, Tensor theta, Tensor alpha) {
    if (options.road_variant == 4) {
        const auto turned = [&](Tensor (*function)(const Tensor&)) {
            return reshape(function(select(view(theta, {-1, 2, options.group_size}), 1)), {-1});
        };
        const Tensor cosine = turned(cos), sine = turned(sin);
        const Tensor first = part(alpha, options.group_size), second = part(alpha, options.group_size);
        return {mul(first, cosine), mul(second, sine)};
    }
    if (options.road_variant == 1) {
        theta = for_pairs(theta, options.group_size / 2);
        alpha = for_pairs(alpha, options.group_size / 2);
    }
    const Tensor cosine = cos(theta), sine = sin(theta);
    Columns out;
    out.first = mul(alpha, cosine);
    out.second = mul(alpha, sine);
    return out;
}

/// Halves of groups change places.
Tensor turned(const Tensor& x, std::int64_t group) {
    const Tensor grouped = reshape(x, {-1, 2, group / 2});
    const Tensor first = select(grouped, 1), second = select(grouped, 1);
    const std::array<Tensor, 2> parts{neg(second), first};
    return reshape(stack(parts, 1), x.sizes());
}

Tensor apply(const OtherAdapter& adapter, const Tensor& x) {
    const AdapterOptions& options = adapter.plan->options;
    const Columns by = columns(options, adapter[0], adapter[1]);
    const Tensor half = turned(x, options.group_size);
    const Tensor kept = mul(x, by.first);
    const Tensor moved = mul(half, by.second);
    return add(kept, moved);
}

}  // namespace

Tensor road(const Linear& layer, const Tensor& x) {
    Tensor result = base_layer(layer, x);
    const DType dtype = result.dtype();
    const bool casts = !is_packed(layer);
    if (casts || !x.session().autocast.enabled) result = to(result, (*layer.other)[0].dtype());
    result = apply(*layer.other, result);
    return casts ? to(result, dtype) : result;
}

}  // namespace vramfit::model
