// torch 2.11 ATen/native/cuda/Nonzero.cu, Indexing.cu, IndexKernel.cu, TensorAdvancedIndexing.cpp.
#include "engine/ops/nonzero.hpp"

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/index_put.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// Indexing.cu index_put_ with a mask: one index for each of its dimensions, the others added to the first in place.
void index_put_accumulate(const Tensor& zeros, const Tensor& mask, const Tensor& value, Size count) {
    Tensor linear;
    Size rows = 1;
    {
        const Tensor places = nonzero(mask, count);
        const Tensor ids = alias(places, {count}, {1});
        for (int i = 0; i < mask.dim(); ++i) {
            const Tensor index = linear_index(ids);
            if (i == 0) linear = index;
            rows *= zeros.size(i);
        }
    }
    put_sorted(linear, value, rows);
}

// index_backward: zeros, the gradient added where the mask is set.
void index_backward(Node& node, Grads& in, Grads& out) {
    const Tensor mask = node.unpack(0);
    out[0] = empty(*node.session, node.dims[0], in[0].dtype(), Op::zeros);
    index_put_accumulate(out[0], mask, in[0], in[0].size(0));
}
const NodeType kIndexMaskBackward{"IndexBackward0", index_backward};

// masked_scatter_backward: grad.masked_select(mask), cut to the source's size.
void masked_scatter_backward(Node& node, Grads& in, Grads& out) {
    const Tensor mask = node.unpack(0);
    const Tensor places = nonzero(mask, node.ints[0]);
    out[0] = empty(*node.session, {node.ints[0]}, in[0].dtype(), Op::index);
}
const NodeType kMaskedScatterBackward{"MaskedScatterBackward0", masked_scatter_backward};

}  // namespace

// nonzero_cuda_out_impl: cub counts, then selects, with a scratch each.
Tensor nonzero(const Tensor& mask, Size count) {
    Session& session = mask.session();
    const Size n = mask.numel();
    const Tensor number = empty(session, {1}, DType::int32, Op::nonzero);
    use_scratch(session, count_scratch(session, n), Op::nonzero);
    session.streams.host_waits(session.recorder.stream);  // the number decides the size of the result
    Tensor places = empty(session, {count, mask.dim()}, DType::int64, Op::nonzero);
    use_scratch(session, select_scratch(session, n), Op::nonzero);
    return places;
}

Tensor index_by_mask(const Tensor& t, const Tensor& mask, Size count) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), kIndexMaskBackward);
        add_edge(*node, t);
        node->save(mask);
        node->dims[0] = t.sizes();
    }
    Dims sizes{count};
    for (int i = mask.dim(); i < t.dim(); ++i) sizes.push(t.size(i));
    const Tensor places = nonzero(mask, count);
    Tensor out = empty(t.session(), sizes, t.dtype(), Op::index);
    if (node) set_history(out, node);
    return out;
}

// masked_scatter: a clone of `zeros`, filled in place after a sum over the mask; torch 2.11
// ATen/native/cuda/IndexKernel.cpp masked_scatter__cuda has nothing to do where nothing is there.
Tensor masked_scatter(const Tensor& zeros, const Tensor& mask, const Tensor& source) {
    Session& session = mask.session();
    Ref<Node> node;
    if (needs_grad(source)) {
        node = make_node(session, kMaskedScatterBackward);
        add_edge(*node, source);
        node->save(mask);
        node->ints[0] = source.numel();
    }
    Tensor out = clone(zeros);
    if (session.decide("there are places to scatter to", mask.numel() > 0)) {
        const Tensor sums = empty(session, {mask.numel()}, DType::int64, Op::masked_scatter);
        use_scratch(session, scan_scratch(session, mask.numel()), Op::nonzero);
    }
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
