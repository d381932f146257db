// aten::logsumexp (torch 2.11 and 2.13 ATen/native/ReduceOps.cpp logsumexp_out_impl; FunctionsManual.cpp
// logsumexp_backward).
#include "engine/ops/logsumexp.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// grad * (self - result).exp(), with the reduced dimension again, if it is not there.
void logsumexp_backward(Node& node, Grads& in, Grads& out) {
    const Tensor self = node.unpack(0), result = node.unpack(1);
    const int dim = static_cast<int>(node.ints[0].value());
    const bool kept = result.dim() == self.dim();
    const Tensor below = sub(self, kept ? result : unsqueeze(result, dim));
    const Tensor part = exp(below);
    out[0] = mul(kept ? in[0] : unsqueeze(in[0], dim), part);
}
const NodeType kLogsumexpBackward{"LogsumexpBackward0", logsumexp_backward};

Tensor logsumexp_over(const Tensor& t, int dim, bool keepdim) {
    const Tensor input = autocast_to_float32(t);
    Ref<Node> node;
    if (needs_grad(input)) {
        node = make_node(input.session(), kLogsumexpBackward);
        add_edge(*node, input);
        node->ints[0] = dim;
        node->save(input);
    }
    const Tensor plain = detach(input);
    const DimMask reduced = 1u << (dim < 0 ? plain.dim() + dim : dim);
    const Tensor highest = reduce(plain, reduced, true, plain.dtype(), Op::amax);
    {  // masked_fill_(highest.abs() == INFINITY, 0)
        const Tensor size = abs(highest);
        const Tensor infinite = compare(Op::eq, size);
    }
    Tensor out;
    {
        const Tensor below = sub(plain, highest);  // exp_ in place
        out = reduce(below, reduced, keepdim, plain.dtype(), Op::sum);
    }
    if (node) {
        set_history(out, node);
        node->save(out, true);
    }
    return out;
}

}  // namespace

Tensor logsumexp(const Tensor& t, bool keepdim) { return logsumexp_over(t, -1, keepdim); }
Tensor logsumexp_over_first(const Tensor& t) { return logsumexp_over(t, 0, false); }

}  // namespace vramfit::engine
