// unsloth 2026.10.7, kernels/rms_layernorm.py Fast_RMS_Layernorm.
#include "model/unsloth/norm.hpp"

#include "engine/node.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// ints[0]: the gradient has memory of its own.
void norm_backward(Node& node, Grads& in, Grads& out) {
    out[0] = node.ints[0] > 0 ? empty(*node.session, in[0].sizes(), in[0].dtype(), Op::empty_like) : detach(in[0]);
}
const NodeType kNormBackward{"Fast_RMS_LayernormBackward", norm_backward};

}  // namespace

Tensor fused_norm(const Run& run, const Norm&, const Tensor& hidden) {
    Session& session = hidden.session();
    Ref<Node> node;
    if (needs_grad(hidden)) {
        node = make_node(session, kNormBackward);
        add_edge(*node, hidden);
        node->ints[0] = is_gemma(run) ? 1 : 0;
    }
    const GradMode no_grad(session, false);
    Tensor out = empty(session, hidden.sizes(), hidden.dtype(), Op::unsloth_norm);
    const Tensor deviations = empty(session, {hidden.numel() / hidden.size(-1)}, DType::float32, Op::unsloth_norm);
    if (!node) return out;
    set_history(out, node);
    node->save(hidden);
    node->save(deviations);
    return out;
}

}  // namespace vramfit::model
