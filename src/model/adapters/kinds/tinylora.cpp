// peft 0.21.2 tuners/tinylora/layer.py Linear, model.py TinyLoraModel._create_and_replace.
#include <algorithm>
#include <cmath>

#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/einsum.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Which of the trained vectors each layer has: neighbours share one.
struct Groups {
    std::int64_t count, size;

    explicit Groups(const NewAdapter& made) {
        const auto layers = static_cast<std::int64_t>(made.all.size());
        const double untied = static_cast<double>(layers) * (1.0 - made.plan().options.weight_tying);
        count = std::max<std::int64_t>(1, std::llrint(untied));  // half to even, as Python's round
        size = std::max<std::int64_t>(1, layers / count);
    }
    std::size_t of(std::int64_t layer) const { return static_cast<std::size_t>(std::min(layer / size, count - 1)); }
};

constexpr std::string_view kVectors = "tinylora_v.default";

}  // namespace

// The vectors of all layers stand in one ModuleDict that every layer has: the first one names them. A, B and the
// projections are buffers.
void create_tinylora(const NewAdapter& made) {
    const AdapterOptions& options = made.plan().options;
    const Groups groups(made);
    const std::int64_t layer = &made.target - made.all.data();
    if (layer == 0)
        for (std::int64_t i = 0; i < groups.count; ++i) made.tie(kVectors, {options.u});
    else
        made.adapter.tied.push_back({kVectors, groups.of(layer), false});
    const auto smaller = std::min(static_cast<std::int64_t>(made.layer.in), static_cast<std::int64_t>(made.layer.out));
    const Size rank = made.run.session.decide("whole rank", made.rank > smaller) ? Size(smaller) : made.rank;
    for (const Dims& sizes : {Dims{rank, made.layer.in}, Dims{made.layer.out, rank}, Dims{options.u, rank, rank}})
        made.add_buffer(moved_from_host(made.run.session, sizes, made.dtype));
    made.adapter.buffers_first = true;
}

Tensor tinylora(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor &a = adapter.buffers[0], &b = adapter.buffers[1];
    Tensor result = base_layer(layer, x);
    const Tensor matrix = [&adapter] {
        const Tensor& vector = (*adapter.shared)[adapter.tied.front().place];
        const Tensor projections = to(adapter.buffers[2], vector.dtype());
        return einsum("i,ijk->jk", vector, projections);
    }();
    Tensor input = dropout(x, adapter.dropout);
    input = to(input, a.dtype());
    Tensor inner = functional_linear(input, a);
    inner = functional_linear(inner, matrix);
    const Tensor delta = functional_linear(inner, b);
    result = add(result, delta);
    return to(result, x.dtype());
}

}  // namespace vramfit::model
