// torch 2.11 and 2.13 ATen/native/ReduceOps.cpp logsumexp_out_impl; FunctionsManual.cpp logsumexp_backward.
#include "engine/ops/logsumexp.hpp"

#include "engine/node.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// grad * (self - result).exp(): the temporaries live until the product is there.
void logsumexp_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = detach(node.unpack(0)), result = node.unpack(1);
    const Tensor difference = pointwise_result(self, self.dtype(), Op::sub);
    const Tensor exponentials = pointwise_result(difference, self.dtype(), Op::exp);
    out[0] = pointwise_result(exponentials, in[0].dtype(), Op::mul);
}
const NodeType kLogsumexpBackward{"LogsumexpBackward0", logsumexp_backward};

}  // namespace

Tensor logsumexp_last(const Tensor& t) {
    const Tensor self = detach(t);
    const DimMask last = 1u << (t.dim() - 1);
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kLogsumexpBackward);
        add_edge(*node, t);
        node->save(t);
    }
    const Tensor maxima = reduce(self, last, true, t.dtype(), Op::amax);
    {
        const Tensor absolute = pointwise_result(maxima, t.dtype(), Op::abs);
        const Tensor infinite = compare(Op::eq, absolute);
    }
    const Tensor exponentials = pointwise_result(self, t.dtype(), Op::sub);
    Tensor out = reduce(exponentials, last, false, t.dtype(), Op::sum);
    if (node) {
        set_history(out, node);
        node->save(out, true);
    }
    return out;
}

}  // namespace vramfit::engine
