// Sorts, selections and gathers (torch 2.11 ATen/native/cuda/Sort.cpp, SortStable.cu, TensorTopK.cu, Indexing.cu,
// SummaryOps.cu, ScanKernels.cpp; FunctionsManual.cpp).
#include "engine/ops/index.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/index_put.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/reduce_scratch.hpp"
#include "engine/ops/row_order.hpp"
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
// index_select_backward: grad.new_zeros(sizes).index_add_(dim, index, grad).
const NodeType kIndexSelectBackward{"IndexSelectBackward0", select_backward};

// scatter of a number: grad.scatter(dim, index, 0).
void scatter_backward(Node& node, Grads& in, Grads& out) {
    const Tensor ids = node.unpack(0);
    out[0] = empty(*node.session, node.dims[0], in[0].dtype(), Op::scatter);
}
const NodeType kScatterBackward{"ScatterBackward1", scatter_backward};

// scatter of a tensor: grad.gather(dim, index) for what was written.
void scatter_values_backward(Node& node, Grads& in, Grads& out) {
    const Tensor ids = node.unpack(0);
    out[0] = empty(*node.session, ids.sizes(), in[0].dtype(), Op::gather);
}
const NodeType kScatterValuesBackward{"ScatterBackward0", scatter_values_backward};

void index_copy_backward(Node& node, Grads& in, Grads& out) {
    const Tensor ids = node.unpack(0), values = node.unpack(1);
    if (node.wants(0)) out[0] = empty(*node.session, values.sizes(), in[0].dtype(), Op::index_select);
}
const NodeType kIndexCopyBackward{"IndexCopyBackward0", index_copy_backward};
const NodeType kIndexAddBackward{"IndexAddBackward0", index_copy_backward};

// The same of a tensor that has a gradient too, which goes on as it is.
void index_add_in_place_backward(Node& node, Grads& in, Grads& out) {
    const Tensor ids = node.unpack(0), values = node.unpack(1);
    if (node.wants(0)) out[0] = in[0];
    if (node.wants(1)) out[1] = empty(*node.session, values.sizes(), in[0].dtype(), Op::index_select);
}
const NodeType kIndexAddInPlaceBackward{"IndexAddBackward0", index_add_in_place_backward};

void index_put_accumulate(const Tensor& ids, const Tensor& value, Size rows) {
    const Tensor linear = linear_index(ids);
    put_sorted(ids, value, rows);
}

// index_backward: zeros of the whole, the gradient added at its places.
void index_rows_backward(Node& node, Grads& in, Grads& out) {
    const Tensor ids = node.unpack(0);
    out[0] = zeros(*node.session, node.dims[0], in[0].dtype());
    index_put_accumulate(ids, in[0], node.dims[0][0]);
}
const NodeType kIndexRowsBackward{"IndexBackward0", index_rows_backward};

// The same with places in another dimension, all before it being a part of what is sorted.
void index_at_backward(Node& node, Grads& in, Grads& out) {
    const Tensor ids = node.unpack(0);
    const Dims& sizes = node.dims[0];
    out[0] = zeros(*node.session, sizes, in[0].dtype());
    Size rows = 1;
    for (int i = 0; i <= static_cast<int>(node.ints[0]); ++i) rows *= sizes[i];
    index_put_accumulate(ids, in[0], rows);
}
const NodeType kIndexAtBackward{"IndexBackward0", index_at_backward};

// The same with two indices, of which the second is added to the first in place.
void index_pairs_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const Tensor columns = node.unpack(1), rows = node.unpack(0);
    const Dims& sizes = node.dims[0];
    out[0] = zeros(session, sizes, in[0].dtype());
    const Tensor linear = linear_index(rows);
    { const Tensor added = linear_index(columns); }
    put_sorted(rows, in[0], sizes[0] * sizes[1]);
}
const NodeType kIndexPairsBackward{"IndexBackward0", index_pairs_backward};

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
    Session& session = ids.session();
    Picked out;
    out.values = empty(session, ids.sizes(), ids.dtype(), Op::sort);
    out.indices = empty(session, ids.sizes(), DType::int64, Op::sort);
    const Tensor range = arange(session, ids.numel());
    if (session.decide("sort takes cub", ids.numel() > kMostSortedInPlace))
        use_scratch(session, sort_scratch(session, ids.numel()), Op::radix_sort);
    return out;
}

Picked topk(const Tensor& t, Size k) {
    Dims sizes = t.sizes();
    sizes[-1] = k;
    return picked(t, sizes, Op::topk, kTopkBackward);
}

Picked max_last(const Tensor& t, bool keepdim) {
    Dims sizes = t.sizes();
    sizes[-1] = 1;
    return picked(t, keepdim ? sizes : sizes.erase(t.dim() - 1), Op::max, kMaxBackward);
}

namespace {

/// t with these places of one dimension alone, whose gradient is `type`'s.
Tensor places_of(const Tensor& t, const Tensor& ids, int dim, const NodeType& type, Op op) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = picking_node(t, type);
        node->ints[0] = dim;
        node->save(ids);
    }
    Dims sizes = t.sizes();
    sizes[dim] = ids.size(0);
    Tensor out = empty(t.session(), sizes, t.dtype(), op);
    if (node) set_history(out, node);
    return out;
}

}  // namespace

Tensor index_rows(const Tensor& t, const Tensor& ids) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = picking_node(t, kIndexRowsBackward);
        node->save(ids);
    }
    Dims sizes = ids.sizes();
    for (int i = 1; i < t.dim(); ++i) sizes.push(t.size(i));
    Tensor out = empty(t.session(), sizes, t.dtype(), Op::index);
    if (node) set_history(out, node);
    return out;
}

Tensor index_at(const Tensor& t, const Tensor& ids, int dim) {
    return places_of(t, ids, dim, kIndexAtBackward, Op::index);
}

Tensor index_select(const Tensor& t, const Tensor& ids, int dim) {
    return places_of(t, ids, dim, kIndexSelectBackward, Op::index_select);
}

Tensor index_pairs(const Tensor& t, const Tensor& rows, const Tensor& columns) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = picking_node(t, kIndexPairsBackward);
        node->save(rows);
        node->save(columns);
    }
    Dims sizes{rows.size(0)};
    for (int i = 2; i < t.dim(); ++i) sizes.push(t.size(i));
    Tensor out = empty(t.session(), sizes, t.dtype(), Op::index);
    if (node) set_history(out, node);
    return out;
}

// cuda/ReduceArgMaxKernel.cu: a value with its place is reduced.
Tensor argmax_last(const Tensor& t) {
    Session& session = t.session();
    Dims sizes;
    for (int i = 0; i + 1 < t.dim(); ++i) sizes.push(t.size(i));
    Tensor out = empty(session, sizes, DType::int64, Op::argmax);
    const int element = static_cast<int>(element_size(t.dtype()));
    const ReduceTypes types{.input = element, .output = 8, .accumulate = 16, .vector = 4};
    const ReducePlan plan = plan_reduction(layout_of(t), 1u << (t.dim() - 1), types, session.device);
    for (const ReduceScratch& part : plan.parts) {
        if (!session.decide("reduction split", part.buffer > 0)) continue;
        const Tensor buffer = empty(session, {part.buffer}, DType::uint8, Op::reduce_scratch);
        const Tensor semaphores = empty(session, {part.semaphores}, DType::uint8, Op::reduce_scratch);
    }
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

// ATen/native/TensorAdvancedIndexing.cpp scatter_impl: a copy of the input, written into.
Tensor scatter_number(const Tensor& t, const Tensor& ids) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = picking_node(t, kScatterBackward);
        node->save(ids);
    }
    Tensor out = empty(t.session(), t.sizes(), t.dtype(), Op::scatter);
    if (node) set_history(out, node);
    return out;
}

void scatter_in_place(const Tensor& t, const Tensor& ids, const Tensor& values) {
    if (!needs_grad(values)) return;
    const Ref<Node> node = make_node(t.session(), kScatterValuesBackward);
    add_edge(*node, values);
    node->save(ids);
    set_history(t, node);
}

// derivatives.yaml scatter_add: src: grad.gather(dim, index).
Tensor scatter_add(const Tensor& t, const Tensor& ids, const Tensor& values) {
    Tensor out = empty(t.session(), t.sizes(), t.dtype(), Op::scatter_add);
    if (!needs_grad(values)) return out;
    const Ref<Node> node = make_node(t.session(), kScatterValuesBackward);
    add_edge(*node, values);
    node->save(ids);
    set_history(out, node);
    return out;
}

namespace {

/// Rows are written into t, which had no history.
void write_rows(const Tensor& t, const Tensor& ids, const Tensor& values, const NodeType& type) {
    if (!needs_grad(values)) return;
    const Ref<Node> node = make_node(t.session(), type);
    add_edge(*node, values);
    node->save(ids);
    node->save(values);
    set_history(t, node);
}

/// The same into a copy.
Tensor with_rows(const Tensor& t, const Tensor& ids, const Tensor& values, const NodeType& type, Op op) {
    Tensor out = empty(t.session(), t.sizes(), t.dtype(), op);
    write_rows(out, ids, values, type);
    return out;
}

}  // namespace

// derivatives.yaml index_copy and index_add: source: grad.index_select(dim, index).expand_as(source).
Tensor index_copy(const Tensor& t, const Tensor& ids, const Tensor& values) {
    return with_rows(t, ids, values, kIndexCopyBackward, Op::index_copy);
}

void index_copy_in_place(const Tensor& t, const Tensor& ids, const Tensor& values) {
    write_rows(t, ids, values, kIndexCopyBackward);
}

void index_add_in_place(const Tensor& t, const Tensor& ids, const Tensor& values) {
    if (!needs_grad(t, values)) return;
    const Ref<Node> node = make_node(t.session(), kIndexAddInPlaceBackward);
    add_edge(*node, t);
    add_edge(*node, values);
    node->save(ids);
    node->save(values);
    set_history(t, node);
}

Tensor index_add(const Tensor& t, const Tensor& ids, const Tensor& values) {
    return with_rows(t, ids, values, kIndexAddBackward, Op::index_add);
}

Tensor histc(const Tensor& t, Size bins) { return empty(t.session(), {bins}, t.dtype(), Op::histc); }

// The result is there before the numbers are cast. ATen/native/cuda/ScanUtils.cuh scan_dim: cub where all elements are
// in one row.
Tensor cumsum_last(const Tensor& t) {
    Session& session = t.session();
    Tensor out = empty(session, t.sizes(), DType::int64, Op::cumsum);
    const Tensor numbers = to(t, DType::int64);
    Size rows = 1;
    for (int i = 0; i + 1 < t.dim(); ++i) rows *= t.size(i);
    if (session.decide("one row", rows == 1)) use_scratch(session, scan_scratch(session, t.size(-1)), Op::scan);
    return out;
}

Tensor cumsum_row(const Tensor& t) {
    Session& session = t.session();
    Tensor out = empty(session, t.sizes(), DType::int32, Op::cumsum);
    use_scratch(session, scan_int32_scratch(session, t.numel()), Op::scan);
    return out;
}

}  // namespace vramfit::engine
