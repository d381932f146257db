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

// matrix[:, rows, cols] = vec: the values' gradient is grad.index(indices).
void placed_backward(Node& node, Grads& in, Grads& out) {
    const Tensor rows = node.unpack(0), columns = node.unpack(1);
    if (node.wants(0)) out[0] = empty(*node.session, node.dims[0], in[0].dtype(), Op::index);
}
const NodeType kPlacedBackward{"IndexPutBackward0", placed_backward};

/// _pytorch_skew_symmetric.
Tensor skew_symmetric(const OtherAdapter& adapter, Size block) {
    const Tensor& vector = adapter[0];
    Tensor matrix = zeros(vector.session(), {vector.size(0), block, block}, vector.dtype());
    if (needs_grad(vector)) {
        const Ref<Node> node = make_node(vector.session(), kPlacedBackward);
        add_edge(*node, vector);
        for (const Tensor& indices : adapter.buffers) node->save(indices);
        node->dims[0] = vector.sizes();
        set_history(matrix, node);
    }
    matrix = sub(matrix, transpose(matrix, -2, -1));
    return matrix;
}

// a.add_(b, alpha=2).
void twice_added_backward(Node& node, Grads& in, Grads& out) {
    if (node.wants(1)) out[1] = mul(in[0], 2.0);
    if (node.wants(0)) out[0] = in[0];
}
const NodeType kTwiceAddedBackward{"AddBackward0", twice_added_backward};
void once_added_backward(Node& node, Grads& in, Grads& out) {
    for (std::size_t i = 0; i < out.size(); ++i)
        if (node.wants(i)) out[i] = in[0];
}
const NodeType kOnceAddedBackward{"AddBackward0", once_added_backward};

void add_to(const Tensor& a, const Tensor& b, const NodeType& type) {
    if (!needs_grad(a, b)) return;
    const Ref<Node> node = make_node(a.session(), type);
    add_edge(*node, a);
    add_edge(*node, b);
    set_history(a, node);
}

/// torch.bmm as autocast casts its operands.
Tensor batched(const Tensor& a, const Tensor& b) {
    const Tensor left = autocast_to_lower(a);
    const Tensor right = autocast_to_lower(b);
    return bmm(left, right);
}

/// _cayley_batch with the Neumann series.
Tensor rotations(const OtherAdapter& adapter, Size block) {
    const std::int64_t terms = adapter.plan->options.cayley_neumann_terms;
    const Tensor& vector = adapter[0];
    const Tensor skew = skew_symmetric(adapter, block);
    const Tensor sum = [&] {
        const Tensor eye = empty(vector.session(), {1, block, block}, vector.dtype(), Op::eye);
        return repeat_along(eye, 0, vector.size(0));
    }();
    if (terms <= 1) return sum;
    add_to(sum, skew, kTwiceAddedBackward);
    if (terms == 2) return sum;
    const Tensor squared = batched(skew, skew);
    add_to(sum, squared, kTwiceAddedBackward);
    Tensor power = squared;
    for (std::int64_t i = 3; i < terms - 1; ++i) {
        power = batched(power, skew);
        add_to(sum, power, kTwiceAddedBackward);
    }
    power = batched(power, skew);
    add_to(sum, power, kOnceAddedBackward);
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
