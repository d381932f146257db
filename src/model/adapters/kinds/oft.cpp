// peft 0.21.2 tuners/oft/layer.py Linear and OFTRotationModule.
#include <algorithm>
#include <array>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/adapters/kinds/neumann.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// OFTLayer.adjust_oft_parameters: the nearest divisor, the smaller one of two.
std::int64_t divisor_near(std::int64_t in, std::int64_t wanted) {
    if (wanted >= in) return in;
    std::int64_t higher = wanted, lower = wanted;
    while (higher <= in && in % higher != 0) ++higher;
    while (lower > 1 && in % lower != 0) --lower;
    return wanted - lower <= higher - wanted ? lower : higher;
}

/// OFTLayer.update_layer: given one of both.
std::int64_t block_size_of(const AdapterOptions& options, std::int64_t in) {
    const std::int64_t given = options.blocks == 0 ? options.block_size : options.blocks;
    const std::int64_t fits = in % given == 0 && given <= in ? given : divisor_near(in, given);
    return options.blocks == 0 ? fits : in / fits;
}

}  // namespace

// OFTRotationModule: the weight, then the buffers `rows` and `cols`.
void create_oft(const NewAdapter& made) {
    const auto in = static_cast<std::int64_t>(made.layer.in);
    const std::int64_t block = block_size_of(made.plan().options, in);
    const std::int64_t elements = block * (block - 1) / 2;
    made.add("oft_R.default.weight", {made.plan().options.block_share ? 1 : in / block, elements});
    for (int i = 0; i < 2; ++i) made.add_buffer(moved_from_host(made.run.session, {elements}, DType::int64));
}

namespace {

/// torch.bmm as autocast casts its operands.
Tensor batched(const Tensor& a, const Tensor& b) {
    const Tensor left = autocast_to_lower(a);
    const Tensor right = autocast_to_lower(b);
    return bmm(left, right);
}

/// _cayley_batch with the Neumann series.
Tensor rotations(const OtherAdapter& adapter, Size block) {
    const Tensor& vector = adapter[0];
    const Tensor skew =
        skew_symmetric(vector, {vector.size(0), block, block}, adapter.buffers[0], adapter.buffers[1], true);
    const Tensor sum = [&] {
        const Tensor eye = empty(vector.session(), {1, block, block}, vector.dtype(), Op::eye);
        return repeat_along(eye, 0, vector.size(0));
    }();
    add_neumann_series(sum, skew, adapter.plan->options.cayley_neumann_terms, batched);
    return sum;
}

/// torch.einsum("...rk,rkc->...rc", x, rotations) (torch 2.11 ATen/native/Linear.cpp sumproduct_pair).
Tensor rotated(const Tensor& x, const Tensor& by) {
    const Size batch = x.size(0), length = x.size(1), blocks = x.size(2), block = x.size(3);
    const std::array<int, 4> inward{2, 0, 1, 3}, outward{1, 2, 0, 3};
    const Tensor left = reshape(permute(x, inward), {blocks, batch * length, block});
    const Tensor product = batched(left, by);
    return permute(view(product, {blocks, batch, length, block}), outward);
}

/// OFTRotationModule.forward.
Tensor rotate(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Size block = block_size_of(adapter.plan->options, static_cast<std::int64_t>(layer.in));
    Tensor by = rotations(adapter, block);
    const Tensor parts = reshape(x, {x.size(0), x.size(1), layer.in / block, block});
    if (adapter.plan->options.block_share) by = repeat_along(by, 0, layer.in / block);
    const Tensor turned = rotated(parts, by);
    const Tensor out = reshape(turned, x.sizes());
    return to(out, x.dtype());
}

}  // namespace

Tensor oft(const Linear& layer, const Tensor& x) {
    Tensor input = to(x, (*layer.other)[0].dtype());
    input = rotate(layer, input);
    const Tensor result = [&] {
        const Tensor given = to(input, x.dtype());
        return base_layer(layer, given);
    }();
    return to(result, x.dtype());
}

}  // namespace vramfit::model
