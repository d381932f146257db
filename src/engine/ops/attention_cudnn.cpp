// Attention by cuDNN: its tensors; the workspaces of its plans are known to cuDNN alone.
// Source: torch 2.11 ATen/native/transformers/cuda/{attention,attention_backward}.cu, cudnn/MHA.cpp.
#include "engine/ops/attention.hpp"

#include <array>

#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

Tensor like(const Tensor& t, Op op) {
    return empty_strided(t.session(), t.sizes(), preserved_strides(t.sizes(), t.strides()), t.dtype(), op);
}

// Saved: query, key, value, bias, output, logsumexp, seed, offset. All are unpacked before the operator is called,
// which computes three gradients whichever are wanted.
void cudnn_node_backward(Node& node, Grads&, Grads& out) {
    std::array<Tensor, 8> saved;
    for (std::size_t i = 0; i < saved.size(); ++i) saved[i] = node.unpack(i);
    const AttentionGradients gradients = cudnn_backward(saved[0], saved[1], saved[2]);
    give_gradients(node, gradients, out);
}
const NodeType kCudnnBackward{"ScaledDotProductCudnnAttentionBackward0", cudnn_node_backward};

}  // namespace

AttentionGradients cudnn_backward(const Tensor& query, const Tensor& key, const Tensor& value) {
    const Tensor dq = like(query, Op::cudnn_backward);
    const Tensor dk = like(key, Op::cudnn_backward);
    const Tensor dv = like(value, Op::cudnn_backward);
    return {dq, dk, dv};
}

AttentionResult cudnn_forward(const Tensor& query, bool with_logsumexp) {
    Session& session = query.session();
    const Tensor seed = empty(session, {}, DType::int64, Op::cudnn_forward);
    const Tensor offset = empty(session, {}, DType::int64, Op::cudnn_forward);
    const Tensor out = like(query, Op::cudnn_forward);
    Tensor lse;
    if (with_logsumexp)
        lse = empty(session, {query.size(0), query.size(1), query.size(2), 1}, DType::float32, Op::cudnn_forward);
    return {out, lse, seed, offset};
}

Tensor cudnn_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias) {
    const Ref<Node> node = attention_node(kCudnnBackward, query, key, value);
    if (node) node->save(bias);
    const AttentionResult result = cudnn_forward(query, static_cast<bool>(node));
    if (node) save_result(node, result);
    return result.output;
}

}  // namespace vramfit::engine
