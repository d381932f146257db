// Sorts, selections and gathers (torch 2.11 ATen/native/cuda/Sort.cpp, SortStable.cu, TensorTopK.cu, Indexing.cu,
// SummaryOps.cu, ScanKernels.cpp; FunctionsManual.cpp).
#include "engine/ops/index.hpp"

#include <algorithm>
#include <bit>

#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// value_selecting_reduction_backward: zeros, the gradient scattered into them.
void select_backward(Node& node, Grads& in, Grads& out) {
    const Tensor indices = node.unpack(0);
    out[0] = zeros(*node.session, node.dims[0], in[0].dtype());
}
const NodeType kTopkBackward{"TopkBackward0", select_backward};
// gather_backward: grad.new_zeros(self.sizes()).scatter_add_(dim, index, grad); derivatives.yaml saves self and index.
const NodeType kGatherBackward{"GatherBackward0", select_backward};
const NodeType kMaxBackward{"MaxBackward0", select_backward};

std::int64_t index_bits(const void*, std::span<const std::int64_t> rows) {
    return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows[0] - 1))));
}

/// Indexing.cu index_put_with_sort_kernel: added up in the order of sorted indices. cuda/cub.h get_num_bits of the
/// largest row says how much of an index is sorted.
void index_put_accumulate(Session& session, const Tensor& ids, const Tensor& value, Size rows) {
    const Tensor wrapped_ids = [&] {
        const Tensor wrapped = empty(session, ids.sizes(), DType::int64, Op::remainder);
        return empty(session, ids.sizes(), DType::int64, Op::mul);
    }();
    const Tensor values = contiguous(value);
    const Tensor sorted = empty(session, ids.sizes(), DType::int64, Op::index_put);
    const Tensor original = empty(session, ids.sizes(), DType::int64, Op::index_put);
    const Tensor range = arange(session, ids.numel());
    const Size bits = apply({index_bits, "index_bits"}, nullptr, {rows});
    session.decide("passes of an index sort", (bits + 7) / 8);
    use_scratch(session, sort_scratch(session, ids.numel(), bits), Op::radix_sort);
}

// index_backward: zeros of the whole, the gradient added at its places.
void index_rows_backward(Node& node, Grads& in, Grads& out) {
    const Tensor ids = node.unpack(0);
    out[0] = zeros(*node.session, node.dims[0], in[0].dtype());
    index_put_accumulate(*node.session, ids, in[0], node.dims[0][0]);
}
const NodeType kIndexRowsBackward{"IndexBackward0", index_rows_backward};

/// A node for an operator whose backward puts the gradient at the picked places.
Ref<Node> picking_node(const Tensor& t, const NodeType& type) {
    Ref<Node> node = make_node(t.session(), type);
    add_edge(*node, t);
    node->dims[0] = t.sizes();
    return node;
}

Picked picked(const Tensor& t, const Dims& sizes, Op op, const NodeType& type) {
    Ref<Node> node;
    if (needs_grad(t)) node = picking_node(t, type);
    Picked out;
    out.values = empty(t.session(), sizes, t.dtype(), op);
    out.indices = empty(t.session(), sizes, DType::int64, op);
    if (node) {
        set_history(out.values, node);
        node->save(out.indices, true);
    }
    return out;
}

}  // namespace

// Up to 4096 ids are sorted in place over a range; more go to cub with a range to permute.
Picked sort(const Tensor& ids) {
    constexpr Size kSmallSort = 4096;  // Sort.h should_use_small_sort
    Session& session = ids.session();
    Picked out;
    out.values = empty(session, ids.sizes(), ids.dtype(), Op::sort);
    out.indices = empty(session, ids.sizes(), DType::int64, Op::sort);
    const Tensor range = arange(session, ids.numel());
    if (session.decide("sort takes cub", ids.numel() > kSmallSort))
        use_scratch(session, sort_scratch(session, ids.numel()), Op::radix_sort);
    return out;
}

Picked topk(const Tensor& t, Size k) {
    Dims sizes = t.sizes();
    sizes[-1] = k;
    return picked(t, sizes, Op::topk, kTopkBackward);
}

Picked max_last(const Tensor& t) {
    Dims sizes = t.sizes();
    sizes[-1] = 1;
    return picked(t, sizes, Op::max, kMaxBackward);
}

Tensor index_rows(const Tensor& t, const Tensor& ids) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = picking_node(t, kIndexRowsBackward);
        node->save(ids);
    }
    Dims sizes = t.sizes();
    sizes[0] = ids.size(0);
    Tensor out = empty(t.session(), sizes, t.dtype(), Op::index);
    if (node) set_history(out, node);
    return out;
}

Tensor gather(const Tensor& t, const Tensor& ids) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = picking_node(t, kGatherBackward);
        node->save(ids);
        node->save(t);
    }
    Tensor out = empty(t.session(), ids.sizes(), t.dtype(), Op::gather);
    if (node) set_history(out, node);
    return out;
}

Tensor histc(const Tensor& t, Size bins) { return empty(t.session(), {bins}, t.dtype(), Op::histc); }

Tensor cumsum_row(const Tensor& t) {
    Session& session = t.session();
    Tensor out = empty(session, t.sizes(), DType::int32, Op::cumsum);
    use_scratch(session, scan_int32_scratch(session, t.numel()), Op::scan);
    return out;
}

}  // namespace vramfit::engine
