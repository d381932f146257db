// torch 2.11 ATen/native/ReduceOps.cpp nansum, nanmean; tools/autograd/derivatives.yaml nansum.
#include "engine/ops/nansum.hpp"

#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// sum_backward(grad) * at::isnan(self).logical_not().
void nansum_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0);
    const Tensor is_nan = compare(Op::ne, self);
    const Tensor is_number = pointwise_result(self, DType::boolean, Op::logical_not);
    out[0] = mul(expand(in[0], self.sizes()), is_number);
}
const NodeType kNansumBackward{"NansumBackward0", nansum_backward};

}  // namespace

Tensor nansum(const Tensor& t) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kNansumBackward);
        add_edge(*node, t);
        node->save(t);
    }
    Tensor out = reduce(t, (1u << t.dim()) - 1u, false, t.dtype(), Op::nansum);
    if (node) set_history(out, node);
    return out;
}

Tensor nanmean(const Tensor& t) {
    const Tensor count = [&t] {
        const Tensor is_number = compare(Op::ne, t);  // isnan, turned round in place
        return sum_all(is_number);
    }();
    return div(nansum(t), count);
}

}  // namespace vramfit::engine
