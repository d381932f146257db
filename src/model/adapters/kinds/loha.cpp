// peft 0.21.2 tuners/loha/layer.py Linear and HadaWeight.
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

void create_loha(const NewAdapter& made) {
    const Size in = made.layer.in, out = made.layer.out, r = made.rank;
    made.add("hada_w1_a.default", {out, r});
    made.add("hada_w1_b.default", {r, in});
    made.add("hada_w2_a.default", {out, r});
    made.add("hada_w2_b.default", {r, in});
}

namespace {

// HadaWeight.backward; the scale is a tensor in host memory.
void hada_backward(Node& node, Grads& in, Grads& out) {
    const Tensor w1a = node.unpack(0), w1b = node.unpack(1), w2a = node.unpack(2), w2b = node.unpack(3);
    const Tensor grad = mul(in[0], 1.0);
    const auto times = [&grad](const Tensor& a, const Tensor& b) {
        const Tensor product = matmul(a, b);
        return mul(grad, product);
    };
    Tensor temp = times(w2a, w2b);
    out[0] = matmul(temp, transpose2d(w1b));
    out[1] = matmul(transpose2d(w1a), temp);
    temp = times(w1a, w1b);
    out[2] = matmul(temp, transpose2d(w2b));
    out[3] = matmul(transpose2d(w2a), temp);
}
const NodeType kHadaWeightBackward{"HadaWeightBackward", hada_backward};

// HadaWeight.forward.
Tensor hada_weight(const OtherAdapter& adapter) {
    const Tensor &w1a = adapter[0], &w1b = adapter[1], &w2a = adapter[2], &w2b = adapter[3];
    Ref<Node> node;
    if (needs_grad(w1a, w1b, w2a, w2b)) {
        node = make_node(w1a.session(), kHadaWeightBackward);
        for (const Tensor* t : {&w1a, &w1b, &w2a, &w2b}) add_edge(*node, *t);
        for (const Tensor* t : {&w1a, &w1b, &w2a, &w2b}) node->save(*t);
    }
    Tensor weight;
    {
        const GradMode no_grad(w1a.session(), false);
        {
            const Tensor left = matmul(w1a, w1b);
            const Tensor right = matmul(w2a, w2b);
            weight = mul(left, right);
        }
        weight = mul(weight, 1.0);
    }
    if (node) set_history(weight, node);
    return weight;
}

}  // namespace

Tensor loha(const Linear& layer, const Tensor& x) {
    Tensor result = base_layer(layer, x);
    result = add(result, [&] {
        const Tensor weight = hada_weight(*layer.other);
        const Tensor input = to(x, weight.dtype());
        return functional_linear(input, weight);
    }());
    return to(result, x.dtype());
}

}  // namespace vramfit::model
