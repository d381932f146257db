// peft 0.21.2 tuners/gralora/layer.py Linear.
#include <array>

#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/einsum.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

// A block for each part of the inputs, one for each part of the outputs, and perhaps a LoRA beside them.
void create_gralora(const NewAdapter& made) {
    const AdapterOptions& options = made.plan().options;
    const Size parts = options.gralora_k;
    made.add("gralora_A.default", {parts, made.layer.in / parts, made.rank});
    made.add("gralora_B.default", {parts, made.rank, made.layer.out / parts});
    if (options.hybrid_r == 0) return;
    made.add("gralora_A_general.default.weight", {options.hybrid_r, made.layer.in}, 1);
    made.add("gralora_B_general.default.weight", {made.layer.out, options.hybrid_r}, 2);
}

namespace {

/// What each block makes of its part of `x`.
Tensor by_blocks(const Tensor& x, const Tensor& blocks) { return einsum("blni,nio->blno", x, blocks); }

/// What each block makes of its part of the input, dealt out over the blocks of the outputs.
Tensor block_products(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Size parts = adapter[0].size(0), share = adapter[0].size(2) / parts;
    const Size batch = x.size(0), length = x.size(1);
    const auto inner = [&] {
        const Tensor dropped = dropout(to(x, adapter[0].dtype()), adapter.dropout);
        return by_blocks(view(dropped, {batch, length, parts, layer.in / parts}), adapter[0]);
    };
    const auto dealt = [&] {
        const std::array<int, 5> crossed{0, 1, 3, 2, 4};
        const Tensor product = view(inner(), {batch, length, parts, parts, share});
        return reshape(permute(product, crossed), {batch, length, parts, parts * share});
    };
    const Tensor product = [&] { return by_blocks(dealt(), adapter[1]); }();
    return reshape(product, {batch, length, -1});
}

void add_scaled(const Tensor& result, const Tensor& output) {
    const Tensor cast = to(output, result.dtype());
    add_in_place(result, mul(cast, 1.0));
}

}  // namespace

Tensor gralora(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor result = base_layer(layer, x);
    const Tensor output = x.dim() == 2 ? squeeze(block_products(layer, unsqueeze(x, 1)), 1) : block_products(layer, x);
    add_scaled(result, output);
    if (adapter.parameters.size() > 2) {
        const Tensor hybrid = [&] {
            Tensor t = dropout(to(x, adapter[0].dtype()), adapter.dropout);
            t = functional_linear(t, adapter[2]);
            return functional_linear(t, adapter[3]);
        }();
        add_scaled(result, hybrid);
    }
    return to(result, x.dtype());
}

}  // namespace vramfit::model
