// aten::_grouped_mm (torch 2.11 ATen/native/cuda/GroupedBlas.cpp, GroupMM.cu, GroupedMMUtils.h) and transformers'
// stand-in (5.17 integrations/moe.py).
#include "engine/ops/grouped_mm.hpp"

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::engine {

namespace {

/// check_valid_strides_and_return_transposed: one of the last two strides is 1, the other a multiple of 16 bytes.
bool has_unit_rows(const Tensor& t) {
    const bool transposed = t.strides()[-2] == 1 && t.strides()[-1] >= t.size(-2);
    const Size stride = t.strides()[transposed ? -1 : -2];
    const Size bytes = stride * element_size(t.dtype());
    if (bytes % 16 != 0)
        throw Error(
            ErrorKind::invalid, "model.hidden_size",
            fmt::format("experts with rows of {} bytes (torch: strides should be multiple of 16 bytes)", bytes.value()),
            "sizes of hidden states and experts that are multiples of 8");
    return transposed;
}

/// GroupMM.cu bf16bf16_grouped_gemm_impl_sm90_sm100: pointers, strides and problem sizes of each group, then cutlass'
/// workspace for each multiprocessor: on capability 9 four tensor maps of 128 bytes, on 10 more, by the tile that is
/// chosen for M rows of a group and N columns. Other cards and types loop over the groups with mm_out, which allocates
/// nothing, but the groups' ends are read first (GroupedMMUtils.h _grouped_mm_fallback: offs.cpu()).
void scratch_of_product(Session& session, Size groups, Size m, Size n, DType dtype) {
    const int major = session.device.capability.major;
    if ((major != 9 && major != 10) || dtype != DType::bfloat16)
        return session.streams.host_waits(session.recorder.stream);
    const Size pointers = ceil_div(groups, 2) * 2 * 3 * 8;
    const Tensor arguments = empty(session, {pointers + groups * (3 * 4 + 3 * 8)}, DType::uint8, Op::grouped_mm);
    Size each = 4 * 128;
    if (major == 10) each = session.decide("small grouped product", m <= 128 || n <= 128) ? 5376 : 5888;
    const Tensor workspace = empty(session, {session.device.multiprocessors * each}, DType::uint8, Op::grouped_mm);
}

/// One product without a tape; all shapes but 3-D with 3-D.
Tensor product(const Tensor& a, const Tensor& b, Size groups) {
    has_unit_rows(a);
    has_unit_rows(b);
    const Dims sizes = b.dim() == 2 ? Dims{groups, a.size(0), b.size(1)} : Dims{a.size(0), b.size(2)};
    Tensor out = empty(a.session(), sizes, a.dtype(), Op::grouped_mm);
    has_unit_rows(out);
    const Size m = b.dim() == 2 ? a.size(0) : a.size(0) / groups;
    scratch_of_product(a.session(), groups, m, b.size(-1), a.dtype());
    return out;
}

// FunctionsManual.cpp _grouped_mm_mat2_backward, _grouped_mm_mat1_backward; the weight's gradient first.
void grouped_mm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor input = node.unpack(0);
    const Tensor weight = node.unpack(1);
    const Tensor offs = node.unpack(2);
    const Tensor& grad = in[0];
    if (node.wants(1)) {
        if (node.ints[0])
            out[1] = transpose(product(transpose(grad, -2, -1), input, offs.size(0)), -2, -1);
        else
            out[1] = product(transpose(input, -2, -1), grad, offs.size(0));
    }
    if (node.wants(0)) out[0] = product(grad, transpose(weight, -2, -1), offs.size(0));
}
const NodeType kGroupedMmBackward{"GroupedMmBackward0", grouped_mm_backward};

/// ctx.offs: a plain attribute.
struct FallbackState : NodeState {
    Tensor offs;
};

// _grouped_mm_fallback_backward.
void fallback_backward(Node& node, Grads&, Grads& out) {
    const Tensor input = node.unpack(0);
    const Tensor weight = node.unpack(1);
    out[0] = zeros_like(input);
    out[1] = zeros_like(weight);
    node.session->streams.host_waits(node.session->recorder.stream);  // ctx.offs.tolist()
}
const NodeType kFallbackBackward{"GeneratedBackwardFor_transformers_grouped_mm_fallback_default", fallback_backward};

}  // namespace

Tensor grouped_mm(const Tensor& input, const Tensor& weight, const Tensor& offs) {
    Ref<Node> node;
    if (needs_grad(input, weight)) {
        node = make_node(input.session(), kGroupedMmBackward);
        add_edge(*node, input);
        add_edge(*node, weight);
        node->save(weight.requires_grad() ? input : Tensor());
        node->save(input.requires_grad() ? weight : Tensor());
        node->save(offs);
        node->ints[0] = has_unit_rows(weight);
    }
    Tensor out = product(input, weight, offs.size(0));
    if (node) set_history(out, node);
    return out;
}

Tensor grouped_mm_fallback(const Tensor& input, const Tensor& weight, const Tensor& offs) {
    Ref<Node> node;
    if (needs_grad(input, weight)) {
        node = make_node(input.session(), kFallbackBackward);
        add_edge(*node, input);
        add_edge(*node, weight);
        node->save(input);
        node->save(weight);
        auto state = std::make_unique<FallbackState>();
        state->offs = offs;
        node->state = std::move(state);
    }
    Tensor out = zeros(input.session(), {input.size(0), weight.size(2)}, input.dtype());
    input.session().streams.host_waits(input.session().recorder.stream);  // offs.tolist()
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
