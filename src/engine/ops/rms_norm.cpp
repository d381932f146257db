// aten::_fused_rms_norm without a weight (torch 2.11 ATen/native/cuda/layer_norm_kernel.cu _fused_rms_norm_cuda).
#include "engine/ops/rms_norm.hpp"

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// _fused_rms_norm_backward_cuda: the input's gradient, then a contiguous copy of the result's.
void rms_norm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor input = node.unpack(0), rstd = node.unpack(1);
    const Tensor x = contiguous(input);
    out[0] = empty(*node.session, x.sizes(), x.dtype(), Op::fused_rms_norm_backward);
    const Tensor grad = contiguous(in[0]);
}
const NodeType kRmsNormBackward{"FusedRmsNormBackward0", rms_norm_backward};

}  // namespace

Tensor rms_norm(const Tensor& t) {
    Session& session = t.session();
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(session, kRmsNormBackward);
        add_edge(*node, t);
        node->save(t);
    }
    const Tensor x = contiguous(detach(t));
    Tensor out = empty(session, t.sizes(), t.dtype(), Op::fused_rms_norm);
    Dims rows = t.sizes();
    rows[-1] = 1;
    const DType statistics = is_half(t.dtype()) ? DType::float32 : t.dtype();
    const Tensor rstd = empty(session, rows, statistics, Op::fused_rms_norm);
    if (node) {
        set_history(out, node);
        node->save(rstd, true);
    }
    return out;
}

}  // namespace vramfit::engine
