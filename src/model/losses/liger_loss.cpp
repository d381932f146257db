// liger-kernel 0.8.5 transformers/model/loss_utils.py LigerForCausalLMLoss, ops/fused_linear_cross_entropy.py; 0.8.1
// where it differs.
#include <algorithm>
#include <bit>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/loss.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/losses/loss.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

// fused_linear_cross_entropy_backward: compares with 1.0, scales in place.
void liger_loss_backward(Node& node, Grads& in, Grads& out) {
    const Tensor grad_input = node.unpack(0);
    const Tensor grad_weight = node.unpack(1);
    {
        const Tensor one = to_device(host_tensor(*node.session, {}, DType::float32));
        const Tensor equal = compare(Op::eq, in[0], one);
        const Tensor all = reduce(equal, 0u, false, DType::boolean, Op::all);
        node.session->streams.host_waits(0);  // torch.equal
    }
    if (node.wants(0)) out[0] = grad_input;
    if (node.wants(1)) out[1] = grad_weight;
}
const NodeType kLigerLossBackward{"LigerFusedLinearCrossEntropyFunctionBackward", liger_loss_backward};

/// _can_use_mm_out: the products write into given tensors.
bool writes_in_place(const Tensor& input, const Tensor& weight) {
    if (!input.session().stack.has_liger_0_8_5()) return false;
    const Autocast& autocast = input.session().autocast;
    return input.dtype() == weight.dtype() && (!autocast.enabled || input.dtype() == autocast.dtype);
}

struct Chunks {
    Size size = 0;
    Size count = 0;
};

std::int64_t next_power_of_2(const void*, std::span<const std::int64_t> a) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(a[0])));
}

/// The transient logits are kept near tokens x hidden size.
Chunks chunks_of(Size tokens, Size hidden, Size vocabulary) {
    const Size power =
        apply({next_power_of_2, "next_power_of_2"}, nullptr, {ceil_div(tokens, ceil_div(vocabulary, hidden))});
    const Size size = std::min(power, tokens);
    return {size, ceil_div(tokens, size)};
}

Tensor rows_of(const Tensor& t, Size begin, Size end) {
    Dims sizes = t.sizes();
    sizes[0] = end - begin;
    return alias(t, sizes, t.strides());
}

/// What a round of 0.8.1 leaves to the next one: Python's local variables have what they had until they are set again.
struct LigerLocals {
    Tensor logits, grad_logits, transposed, input;
};

/// The weight's gradient of one chunk: added in the product where dtypes and card allow it.
void add_weight_gradient(const Tensor& grad_weight, const Tensor& grad_logits, const Tensor& input,
                         LigerLocals& locals) {
    Session& session = grad_weight.session();
    const bool in_place = session.stack.has_liger_0_8_5();
    const bool same = grad_weight.dtype() == grad_logits.dtype() && in_place;
    const bool direct = is_half(grad_logits.dtype()) && (grad_weight.dtype() == DType::float32 || same);
    if (direct && (session.device.capability.major >= 8 || !in_place)) {
        const Tensor chunk = to(input, grad_logits.dtype());
        if (!in_place) locals.input = chunk;
        cublas_workspace(session);
        return;
    }
    const Tensor product = to(matmul(transpose2d(grad_logits), input), DType::float32);
}

/// One chunk: logits, their gradient in place, the gradients of input and weight.
void run_chunk(const Tensor& input, const Tensor& weight, const Tensor& storage, const Tensor& grad_weight,
               bool wants_gradients) {
    const Tensor logits = storage.defined() ? rows_of(storage, 0, input.size(0)) : matmul(input, transpose2d(weight));
    if (storage.defined()) cublas_workspace(input.session());
    if (!wants_gradients) return;
    // The result is copied into the whole gradient where it could not be written there.
    if (storage.defined() && logits.dtype() == input.dtype())
        cublas_workspace(input.session());
    else
        const Tensor grad = matmul(logits, weight);
    LigerLocals none;
    if (grad_weight.defined()) add_weight_gradient(grad_weight, logits, input, none);
}

/// The same in 0.8.1.
void run_chunk_0_8_1(const Tensor& input, const Tensor& weight, const Tensor& grad_weight, bool wants_gradients,
                     LigerLocals& locals) {
    locals.logits = matmul(input, transpose2d(weight));
    locals.grad_logits = locals.logits;
    if (!wants_gradients) return;
    { const Tensor grad = matmul(locals.logits, weight); }
    if (!grad_weight.defined()) return;
    locals.transposed = locals.logits;
    add_weight_gradient(grad_weight, locals.logits, input, locals);
}

/// LigerFusedLinearCrossEntropyFunction: input -- [T, H], target -- [T].
Tensor fused_cross_entropy(const Tensor& input, const Tensor& weight, const Tensor& target) {
    Session& session = input.session();
    const Size tokens = input.size(0);
    const bool wants = input.requires_grad() && session.grad_enabled;
    Ref<Node> node;
    if (needs_grad(input, weight)) {
        node = make_node(session, kLigerLossBackward);
        add_edge(*node, input);
        add_edge(*node, weight);
    }
    const GradMode no_grad(session, false);
    const Tensor grad_input = zeros_like(input);
    Tensor grad_weight, loss;
    {
        if (input.requires_grad() && weight.requires_grad()) grad_weight = zeros_like(weight);
        const Tensor losses = zeros(session, {tokens}, DType::float32);
        const Tensor target_mask = compare(Op::ne, target);
        {
            const Tensor number = sum_all(target_mask);
            session.streams.host_waits(0);  // .sum().item()
        }
        const Chunks chunks = chunks_of(tokens, input.size(1), weight.size(0));
        session.decide("liger chunks", chunks.count);
        Tensor storage;
        if (writes_in_place(input, weight)) storage = empty(session, {chunks.size, weight.size(0)}, input.dtype());
        LigerLocals locals;
        for (Size i = 0; i < chunks.count; i += 1) {
            const Tensor rows = rows_of(input, i * chunks.size, std::min((i + 1) * chunks.size, tokens));
            if (session.stack.has_liger_0_8_5())
                run_chunk(rows, weight, storage, grad_weight, wants);
            else
                run_chunk_0_8_1(rows, weight, grad_weight, wants, locals);
        }
        storage.reset();
        loss = sum_all(losses);
    }
    if (node) {
        set_history(loss, node);
        node->save(grad_input);
        node->save(grad_weight);
    }
    return loss;
}

}  // namespace

Tensor liger_loss(const Tensor& hidden, const Tensor& weight, const Tensor& targets, const Tensor& items) {
    const Tensor labels = pad_last(targets, 1);
    Tensor shifted = contiguous(slice(labels, -1, 1, labels.size(-1)));
    const Tensor flat = view(hidden, {-1, hidden.size(-1)});
    shifted = view(shifted, {-1});
    Tensor loss = fused_cross_entropy(flat, weight, shifted);
    if (items.defined()) loss = div(loss, items);
    return loss;
}

}  // namespace vramfit::model
