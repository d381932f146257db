// unsloth 2026.10.7, kernels/rms_layernorm.py Fast_RMS_Layernorm.
#include "model/unsloth/norm.hpp"

#include "engine/node.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

void norm_backward(Node&, Grads& in, Grads& out) { out[0] = detach(in[0]); }
const NodeType kNormBackward{"Fast_RMS_LayernormBackward", norm_backward};

}  // namespace

Tensor fused_norm(const Norm&, const Tensor& hidden) {
    Session& session = hidden.session();
    Ref<Node> node;
    if (needs_grad(hidden)) {
        node = make_node(session, kNormBackward);
        add_edge(*node, hidden);
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
