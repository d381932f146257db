// aten::cumsum (torch 2.11 ATen/native/cuda/ScanUtils.cuh scan_dim; FunctionsManual.h cumsum_backward).
#include "engine/ops/running_sum.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// A dense result; what is read is made dense meanwhile.
Tensor summed(const Tensor& t) {
    Tensor out = empty(t.session(), t.sizes(), t.dtype(), Op::cumsum);
    const Tensor dense = contiguous(t);
    return out;
}

// grad.flip(dim).cumsum(dim).flip(dim)
void cumsum_backward(Node&, Grads& in, Grads& out) {
    const Tensor flipped = pointwise_result(in[0], in[0].dtype(), Op::flip);
    const Tensor sums = summed(flipped);
    out[0] = pointwise_result(sums, sums.dtype(), Op::flip);
}
const NodeType kCumsumBackward{"CumsumBackward0", cumsum_backward};

}  // namespace

Tensor running_sum(const Tensor& of) {
    const Tensor t = autocast_to_float32(of);
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kCumsumBackward);
        add_edge(*node, t);
    }
    Tensor out = summed(detach(t));
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
