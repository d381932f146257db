// Attention by cuDNN: its tensors, and the workspaces of its plans where they were measured.
// Source: torch 2.11 ATen/native/transformers/cuda/{attention,attention_backward}.cu, cudnn/MHA.cpp.
#include "engine/ops/attention.hpp"

#include <array>

#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// With the order of another tensor's dimensions (MHA.cpp alloc_with_matching_layout).
Tensor like(const Tensor& t, const Dims& sizes, Op op) {
    return empty_strided(t.session(), sizes, preserved_strides(sizes, t.strides()), t.dtype(), op);
}
Tensor like(const Tensor& t, Op op) { return like(t, t.sizes(), op); }

// What a plan has on capability 9.0: cuDNN 9.19 asked for it on an H200 in 51 shapes (heads of 64 to 256 channels, 2 to
// 16,384 tokens, grouped or not, causal, masked or neither, both 16-bit dtypes), and on an H100 in 12 whose values have
// heads of another size, all by these sums. Elsewhere only cuDNN knows: none.
constexpr std::int64_t kPlan = 256;

Tensor workspace(const Tensor& query, Size bytes, Op op) {
    Session& session = query.session();
    if (session.device.capability != Capability{9, 0}) return {};
    return empty(session, {bytes}, DType::uint8, op);
}

// dQ in float32, a float for each row, and dK and dV of every query head where heads are grouped.
Size backward_bytes(const Tensor& query, const Tensor& key) {
    const Size heads = query.size(0) * query.size(1);
    const Size rows = heads * query.size(2);
    const Size bytes = rows * query.size(3) * 4 + rows * 4 + kPlan;
    const bool grouped = query.size(1) != key.size(1);
    return grouped ? bytes + heads * key.size(2) * key.size(3) * 4 : bytes;
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
    const Tensor plan = workspace(query, backward_bytes(query, key), Op::cudnn_backward);
    return {dq, dk, dv};
}

AttentionResult cudnn_forward(const Tensor& query, const Tensor& value, bool with_logsumexp) {
    Session& session = query.session();
    const Tensor seed = empty(session, {}, DType::int64, Op::cudnn_forward);
    const Tensor offset = empty(session, {}, DType::int64, Op::cudnn_forward);
    Dims sizes = query.sizes();
    sizes[3] = value.size(3);
    const Tensor out = like(query, sizes, Op::cudnn_forward);
    Tensor lse;
    if (with_logsumexp)
        lse = empty(session, {query.size(0), query.size(1), query.size(2), 1}, DType::float32, Op::cudnn_forward);
    const Tensor plan = workspace(query, kPlan, Op::cudnn_forward);
    return {out, lse, seed, offset};
}

Tensor cudnn_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias) {
    const Ref<Node> node = attention_node(kCudnnBackward, query, key, value);
    if (node) node->save(bias);
    const AttentionResult result = cudnn_forward(query, value, static_cast<bool>(node));
    if (node) save_result(node, result);
    return result.output;
}

}  // namespace vramfit::engine
