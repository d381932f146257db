// peft 0.21.2 tuners/oft/layer.py OFTRotationModule._cayley_batch, tuners/psoft/layer.py OrthLayer.get_matrix.
#include "model/adapters/kinds/neumann.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

// matrix[:, rows, cols] = vec: the values' gradient is grad.index(indices).
void placed_backward(Node& node, Grads& in, Grads& out) {
    const Tensor rows = node.unpack(0), columns = node.unpack(1);
    if (node.wants(0)) out[0] = empty(*node.session, node.dims[0], in[0].dtype(), Op::index);
}
const NodeType kPlacedBackward{"IndexPutBackward0", placed_backward};

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

}  // namespace

Tensor skew_symmetric(const Tensor& vector, const Dims& sizes, const Tensor& rows, const Tensor& columns,
                      bool in_place) {
    Tensor matrix = zeros(vector.session(), sizes, vector.dtype());
    if (!in_place) matrix = clone(matrix);
    if (needs_grad(vector)) {
        const Ref<Node> node = make_node(vector.session(), kPlacedBackward);
        add_edge(*node, vector);
        for (const Tensor* indices : {&rows, &columns}) node->save(*indices);
        node->dims[0] = vector.sizes();
        set_history(matrix, node);
    }
    matrix = sub(matrix, transpose(matrix, -2, -1));
    return matrix;
}

Tensor add_neumann_series(const Tensor& sum, const Tensor& skew, std::int64_t terms,
                          Tensor (*product)(const Tensor& a, const Tensor& b)) {
    if (terms <= 1) return {};
    add_to(sum, skew, kTwiceAddedBackward);
    if (terms == 2) return {};
    const Tensor squared = product(skew, skew);
    add_to(sum, squared, kTwiceAddedBackward);
    Tensor power = squared;
    for (std::int64_t i = 3; i < terms - 1; ++i) {
        power = product(power, skew);
        add_to(sum, power, kTwiceAddedBackward);
    }
    power = product(power, skew);
    add_to(sum, power, kOnceAddedBackward);
    return power;
}

}  // namespace vramfit::model
