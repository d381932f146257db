// transformers 5.17 distributed/tensor_parallel.py over torch 2.11 distributed/tensor.
#include "model/parallel/tensor/tensor_parallel.hpp"

#include <fmt/format.h>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

bool is_tensor_parallel(const TrainPlan& plan) { return plan.distributed && plan.distributed->as<TpPlan>(); }

namespace {

std::int64_t moved_bytes(const Tensor& t) { return (t.numel() * element_size(t.dtype())).value(); }

void count_all_reduce(const Tensor& t) { t.session().recorder.program().collectives.all_reduced += moved_bytes(t); }

void count_all_gather(const Tensor& whole) {
    whole.session().recorder.program().collectives.all_gathered += moved_bytes(whole);
}

void pass_on(Node&, Grads& in, Grads& out) { out[0] = in[0]; }

/// _redistribute.py Redistribute.backward: a gradient that all processes have stays as it is.
constexpr NodeType kSummed{"RedistributeBackward", pass_on};

/// _api.py _FromTorchTensor.backward: partial gradients are summed (_functional_collectives.py all_reduce, which clones
/// what it is given).
void from_local_backward(Node&, Grads& in, Grads& out) {
    out[0] = clone_contiguous(in[0]);
    count_all_reduce(out[0]);
}
constexpr NodeType kFromLocal{"_FromTorchTensorBackward", from_local_backward};

/// Redistribute.backward of a gathered output: a copy of this process's columns.
void gathered_backward(Node& node, Grads& in, Grads& out) {
    out[0] = empty(*node.session, node.dims[0], in[0].dtype(), Op::clone);
}
constexpr NodeType kGathered{"RedistributeBackward", gathered_backward};

/// placement_types.py Shard._to_replicate_tensor: gathered along the first dimension, then put together along the last.
Tensor put_together(const Tensor& columns, std::int64_t pieces) {
    Session& session = columns.session();
    Dims stacked = columns.sizes();
    stacked[0] = stacked[0] * pieces;
    const Tensor all = empty(session, stacked, columns.dtype(), Op::all_gather);
    Dims whole = columns.sizes();
    whole[-1] = whole[-1] * pieces;
    count_all_gather(all);
    return empty(session, whole, columns.dtype(), Op::cat);
}

/// The same of an input that was cut.
void split_backward(Node& node, Grads& in, Grads& out) {
    out[0] = put_together(contiguous(in[0]), node.ints[0].value());
}
constexpr NodeType kSplit{"RedistributeBackward", split_backward};

/// _FromTorchTensor.backward of a piece: what is viewed below autograd keeps no base.
void from_piece_backward(Node&, Grads& in, Grads& out) {
    out[0] = alias(in[0], in[0].sizes(), in[0].strides());
    out[0]->is_view = false;
}
constexpr NodeType kFromPiece{"_FromTorchTensorBackward", from_piece_backward};

Ref<Node> node_of(const Tensor& input, const NodeType& type) {
    if (!needs_grad(input)) return {};
    Ref<Node> node = make_node(input.session(), type);
    add_edge(*node, input);
    return node;
}

/// The same values behind a node, where a gradient is needed: DTensor.from_local and the like.
Tensor through(const Tensor& x, const NodeType& type) {
    const Ref<Node> node = node_of(x, type);
    if (!node) return x;
    Tensor out = alias(x, x.sizes(), x.strides());
    set_history(out, node);
    return out;
}

/// RowwiseParallel.transform_output_post_forward: partial results are summed, in a copy.
Tensor summed(const Tensor& partial) {
    const Ref<Node> node = node_of(partial, kSummed);
    Tensor out;
    {
        const GradMode off(partial.session(), false);
        out = clone_contiguous(partial);
    }
    count_all_reduce(out);
    if (node) set_history(out, node);
    return out;
}

/// ColwiseParallel.transform_output_post_forward.
Tensor gathered(const Tensor& columns, std::int64_t pieces) {
    const Ref<Node> node = node_of(columns, kGathered);
    if (node) node->dims[0] = columns.sizes();
    Tensor out = put_together(columns, pieces);
    if (node) set_history(out, node);
    return out;
}

/// RowwiseParallel.transform_inputs_pre_forward, Shard._replicate_to_shard: a copy of this process's columns.
Tensor split(const Tensor& x, std::int64_t pieces) {
    const Ref<Node> node = node_of(x, kSplit);
    if (node) node->ints[0] = pieces;
    Dims sizes = x.sizes();
    sizes[-1] = sizes[-1] / pieces;
    Tensor out = empty(x.session(), sizes, x.dtype(), Op::clone);
    if (node) set_history(out, node);
    return out;
}

/// _use_local_dtensor_params: what stands in a parameter's place for a call is no leaf, and autocast keeps no cast of
/// it.
Tensor plain_tensor(const Tensor& parameter) { return parameter.defined() ? detach(parameter) : parameter; }

/// torch 2.11 _ops/_matrix_ops.py addmm_strategy: each process adds its share of a whole bias to its partial result.
Tensor partial_product(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    if (!bias.defined()) return functional_linear(x, weight, bias);
    const Tensor lower = autocast_to_lower(x);
    const Tensor lower_weight = autocast_to_lower(weight);
    const Tensor lower_bias = autocast_to_lower(bias);
    const Tensor share = empty(x.session(), bias.sizes(), lower_bias.dtype(), Op::div);
    return functional_linear(lower, lower_weight, lower_bias);
}

/// Without a graph linear layers work on plain tensors, and what they give is summed in place.
Tensor plain_product(Cut cut, std::int64_t pieces, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const bool by_rows = cuts_inputs(cut);
    const Tensor out = functional_linear(x, plain_tensor(weight), by_rows ? Tensor() : plain_tensor(bias));
    if (cut == Cut::columns_gathered) return gathered(out, pieces);
    if (by_rows) count_all_reduce(out);
    return by_rows && bias.defined() ? add(out, bias) : out;
}

}  // namespace

Tensor cut_product(Cut cut, std::int64_t pieces, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    if (cut == Cut::none) return functional_linear(x, weight, bias);
    const Tensor given = cut == Cut::rows_split ? split(x, pieces) : x;
    if (!grad_enabled(x.session())) return plain_product(cut, pieces, given, weight, bias);
    const Scoped<bool> of_pieces(x.session().casts_pieces, true);
    // RowwiseParallel and ColwiseParallel.transform_inputs_pre_forward.
    if (cut == Cut::rows) return summed(partial_product(through(given, kFromPiece), weight, bias));
    if (cut == Cut::rows_split) return summed(partial_product(given, weight, bias));
    const Tensor out = functional_linear(through(given, kFromLocal), weight, bias);
    return cut == Cut::columns_gathered ? gathered(out, pieces) : out;
}

Tensor cut_linear(const Linear& layer, const Tensor& x) {
    return cut_product(layer.cut, layer.pieces, x, layer.weight, layer.bias);
}

namespace {

// _ops/_embedding_ops.py embedding_dense_backward: on whole gradients and indices, so of the whole table.
void cut_embedding_backward(Node& node, Grads& in, Grads& out) {
    out[0] = embedding_gradient(contiguous(in[0]), node.unpack(0), node.dims[0]);
}
constexpr NodeType kCutEmbedding{"EmbeddingBackward0", cut_embedding_backward};

/// _MaskPartial._partition_value: ids of other processes become 0. Returns the mask of those.
Tensor mask_ids(const Tensor& ids, Tensor& masked) {
    Tensor mask;
    {
        const Tensor below = compare(Op::lt, ids);
        const Tensor above = compare(Op::ge, ids);
        mask = compare(Op::bitwise_or, below, above);
    }
    masked = clone(ids);
    masked = pointwise_result(masked, masked.dtype(), Op::sub);
    return mask;
}

}  // namespace

// _MaskPartial keeps its mask until what was looked up is summed.
Tensor embedding_of_piece(const Tensor& piece, std::int64_t pieces, const Tensor& ids) {
    const Ref<Node> node = node_of(piece, kCutEmbedding);
    if (node) {
        node->save(ids);
        node->dims[0] = piece.sizes();
        node->dims[0][0] = node->dims[0][0] * pieces;
    }
    Tensor masked;
    Tensor mask = mask_ids(ids, masked);
    Dims sizes = ids.sizes();
    sizes.push(piece.size(1));
    Tensor out = empty(ids.session(), sizes, piece.dtype(), Op::index_select);
    if (node) set_history(out, node);
    if (ids.session().mask_of_lookup) *ids.session().mask_of_lookup = std::move(mask);
    return out;
}

Tensor cut_embedding(Session& session, const std::function<Tensor()>& forward) {
    Tensor mask;
    const Scoped<Tensor*> keeps(session.mask_of_lookup, &mask);
    const Tensor out = forward();
    mask.reset();
    return summed(out);
}

Tensor cut_embedding(const Embedding& layer, const Tensor& ids) {
    return cut_embedding(ids.session(), [&] {
        const Tensor rows = embedding_of_piece(layer.weight, layer.pieces, ids);
        return layer.scale.defined() ? mul(rows, to(layer.scale, layer.weight.dtype())) : rows;
    });
}

// Shard(0): gathered as it comes; the gradient is cut in a copy, like that of gathered columns.
Tensor whole_weight(const Tensor& weight, std::int64_t pieces) {
    Session& session = weight.session();
    const Ref<Node> node = node_of(weight, kGathered);
    if (node) node->dims[0] = weight.sizes();
    Dims sizes = weight.sizes();
    sizes[0] = sizes[0] * pieces;
    const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
    Tensor out = empty(session, sizes, weight.dtype(), Op::all_gather);
    count_all_gather(out);
    if (node) set_history(out, node);
    return out;
}

namespace {

void summed_input_backward(Node&, Grads& in, Grads& out) {
    out[0] = contiguous(in[0]);
    count_all_reduce(out[0]);
}
constexpr NodeType kSummedInput{"_AllReduceBackwardBackward", summed_input_backward};

}  // namespace

// _AllReduceBackward: the sum is in place.
Tensor summed_in_backward(const Tensor& x) { return through(x, kSummedInput); }

// _AllReduceForward: in place, and the gradient passes.
void sum_in_place(const Tensor& partial) { count_all_reduce(partial); }

namespace {

/// utils/hooks.py BackwardHook.grad_outputs.
struct HookState : NodeState {
    explicit HookState(std::shared_ptr<Tensor> of) : gradient(std::move(of)) {}
    std::shared_ptr<Tensor> gradient;
};

void hooked_output_backward(Node& node, Grads& in, Grads& out) {
    *static_cast<HookState&>(*node.state).gradient = in[0];
    out[0] = in[0];
}
constexpr NodeType kHookedOutput{"BackwardHookFunctionBackward", hooked_output_backward};

void hooked_input_backward(Node& node, Grads& in, Grads& out) {
    static_cast<HookState&>(*node.state).gradient->reset();
    out[0] = in[0];
}
constexpr NodeType kHookedInput{"BackwardHookFunctionBackward", hooked_input_backward};

Tensor hooked(const Tensor& t, const NodeType& type, const std::shared_ptr<Tensor>& gradient) {
    const Ref<Node> node = node_of(t, type);
    if (!node) return t;
    node->state = std::make_unique<HookState>(gradient);
    Tensor out = alias(t, t.sizes(), t.strides());
    set_history(out, node);
    return out;
}

}  // namespace

// torch 2.11 nn/modules/module.py _call_impl, utils/hooks.py BackwardHook: the gradient of the output is there until
// that of the input is.
Tensor with_full_backward_hook(const Tensor& input, const std::function<Tensor(const Tensor&)>& forward) {
    const auto gradient = std::make_shared<Tensor>();
    return hooked(forward(hooked(input, kHookedInput, gradient)), kHookedOutput, gradient);
}

}  // namespace vramfit::model
