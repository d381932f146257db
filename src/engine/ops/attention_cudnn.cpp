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
void cudnn_backward(Node& node, Grads&, Grads& out) {
    std::array<Tensor, 8> saved;
    for (std::size_t i = 0; i < saved.size(); ++i) saved[i] = node.unpack(i);
    std::array<Tensor, 3> gradients;
    for (std::size_t i = 0; i < 3; ++i) gradients[i] = like(saved[i], Op::cudnn_backward);
    for (std::size_t i = 0; i < 3; ++i)
        if (node.wants(i)) out[i] = gradients[i];
}
const NodeType kCudnnBackward{"ScaledDotProductCudnnAttentionBackward0", cudnn_backward};

}  // namespace

Tensor cudnn_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias) {
    Session& session = query.session();
    Ref<Node> node;
    if (needs_grad(query, key, value)) {
        node = make_node(session, kCudnnBackward);
        for (const Tensor* t : {&query, &key, &value}) {
            add_edge(*node, *t);
            node->save(*t);
        }
        node->save(bias);
    }
    const Tensor seed = empty(session, {}, DType::int64, Op::cudnn_forward);
    const Tensor offset = empty(session, {}, DType::int64, Op::cudnn_forward);
    Tensor out = like(query, Op::cudnn_forward);
    Tensor lse;
    if (node) {
        lse = empty(session, {query.size(0), query.size(1), query.size(2), 1}, DType::float32, Op::cudnn_forward);
        set_history(out, node);
        node->save(out, true);
        node->save(lse, true);
        node->save(seed, true);
        node->save(offset, true);
    }
    return out;
}

}  // namespace vramfit::engine
