// Cross entropy (torch 2.11 ATen/native/LossNLL.cpp, cuda/Loss.cu, PadNd.cpp).
#include "engine/ops/loss.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

void nll_loss_backward(Node& node, Grads& in, Grads& out) {
    (void)in;
    const Tensor self = node.unpack(0);
    const Tensor target = node.unpack(1);
    const Tensor total_weight = node.unpack(2);
    out[0] = empty(*node.session, self.sizes(), self.dtype(), Op::nll_loss_backward);
}
const NodeType kNllLossBackward{"NllLossBackward0", nll_loss_backward};

// Loss.cpp mse_loss_backward: zeros_like(input).
void mse_loss_backward(Node& node, Grads& in, Grads& out) {
    (void)in;
    const Tensor input = node.unpack(0), target = node.unpack(1);
    out[0] = empty(*node.session, input.sizes(), input.dtype(), Op::mse_loss_backward);
}
const NodeType kMseLossBackward{"MseLossBackward0", mse_loss_backward};

Tensor loss_of(const Tensor& log_probabilities, const Tensor& target) {
    Session& session = log_probabilities.session();
    Ref<Node> node;
    if (needs_grad(log_probabilities)) {
        node = make_node(session, kNllLossBackward);
        add_edge(*node, log_probabilities);
        node->save(log_probabilities);
        node->save(target);
    }
    Tensor out = empty(session, {}, log_probabilities.dtype(), Op::nll_loss_forward);
    const Tensor total_weight = empty(session, {}, log_probabilities.dtype(), Op::nll_loss_forward);
    if (node) {
        set_history(out, node);
        node->save(total_weight, true);
    }
    return out;
}

}  // namespace

// LossNLL.cpp cross_entropy_loss hands log_softmax the dtype of the logits; autocast casts what it gives for nll_loss.
Tensor cross_entropy(const Tensor& logits, const Tensor& target) {
    const Tensor log_probabilities = log_softmax_in_own_dtype(logits);
    return nll_loss(log_probabilities, target);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target) {
    return loss_of(autocast_to_float32(log_probabilities), target);
}

// Loss.cpp mse_loss: the mean is allocated as the squares are, then told that it is one number; mse_loss_out: squares
// of their own, then their mean.
Tensor mse_loss(const Tensor& given, const Tensor& target) {
    const Tensor input = autocast_to_float32(given);
    Session& session = input.session();
    Ref<Node> node;
    if (needs_grad(input)) {
        node = make_node(session, kMseLossBackward);
        add_edge(*node, input);
        node->save(input);
        node->save(target);
    }
    Tensor out;
    {
        const GradMode no_grad(session, false);
        out = alias(empty(session, input.sizes(), input.dtype(), Op::mse_loss), {}, {});
    }
    const Tensor squares = empty(session, input.sizes(), input.dtype(), Op::mse_loss);
    if (node) set_history(out, node);
    return out;
}

Tensor pad_last(const Tensor& t, Size places) {
    Dims sizes = t.sizes();
    sizes[-1] += places;
    return empty(t.session(), sizes, t.dtype(), Op::constant_pad_nd);
}

}  // namespace vramfit::engine
