// aten::embedding (torch 2.11 ATen/native/Embedding.cpp, cuda/Embedding.cu, cuda/EmbeddingBackwardKernel.cu).
#include "engine/ops/embedding.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/embedding_scratch.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

// embedding_dense_backward_cuda: dense zeros; more than 3072 ids are sorted first.
Tensor embedding_gradient(const Tensor& grad, const Tensor& ids, const Dims& weight_sizes) {
    const Size n = ids.numel();
    Session& session = grad.session();
    const Size sorts = indicator_less(3072, n);
    if (sorts.is_symbolic() || session.decide("embedding sorts", sorts))
        return sorted_embedding_backward(session, grad, n, weight_sizes, sorts, ids.dtype());
    return zeros(session, weight_sizes, grad.dtype());
}

namespace {

void embedding_backward(Node& node, Grads& in, Grads& out) {
    const Tensor ids = node.unpack(0);
    out[0] = embedding_gradient(contiguous(in[0]), ids, node.dims[0]);
}
const NodeType kEmbeddingBackward{"EmbeddingBackward0", embedding_backward};

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& ids) {
    Session& session = weight.session();
    Ref<Node> node;
    if (needs_grad(weight)) {
        node = make_node(session, kEmbeddingBackward);
        add_edge(*node, weight);
        node->save(ids);
        node->dims[0] = weight.sizes();
    }
    // Embedding.cpp embedding_symint: weight.index_select(0, indices.reshape(-1)), which copies ids that are only
    // expanded.
    Tensor row;
    if (!ids.is_contiguous()) row = reshape(detach(ids), {-1});
    Dims sizes = ids.sizes();
    sizes.push(weight.size(1));
    Tensor out = empty(session, sizes, weight.dtype(), Op::index_select);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
