// The autograd function of Phi-MoE's router (transformers 5.17.0 models/phimoe/modeling_phimoe.py PhimoeMultiplier):
// the scores alone have a gradient.
#include "engine/ops/phimoe_multiplier.hpp"

#include "engine/node.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// masked_gates * grad_at_output.mul(-1), into which the gradient is added at the chosen places.
void phimoe_multiplier_backward(Node& node, Grads& in, Grads& out) {
    const Tensor multiplier = node.unpack(0);
    const Tensor selected = node.unpack(1);
    const Tensor gates = node.unpack(2);
    const Tensor scaled = mul(in[0], multiplier);
    const Tensor minus = mul(scaled, -1.0);
    out[0] = mul(gates, minus);
}
const NodeType kPhimoeMultiplierBackward{"PhimoeMultiplierBackward", phimoe_multiplier_backward};

}  // namespace

Tensor phimoe_multiplier(const Tensor& scores, const Tensor& multiplier, const Tensor& selected, const Tensor& gates,
                         const Tensor& mask_for_one) {
    Ref<Node> node;
    if (needs_grad(scores, multiplier, gates)) {
        node = make_node(scores.session(), kPhimoeMultiplierBackward);
        for (const Tensor* input : {&scores, &multiplier, &gates}) add_edge(*node, *input);
        for (const Tensor* saved : {&multiplier, &selected, &gates}) node->save(*saved);
    }
    const GradMode off(scores.session(), false);
    Tensor out = mul(multiplier, mask_for_one);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
