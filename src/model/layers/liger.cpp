// liger-kernel 0.8.5 ops/rms_norm.py, swiglu.py, geglu.py, rope.py; 0.8.1 where it differs.
#include "model/layers/liger.hpp"

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/network/called.hpp"
#include "spec/liger.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

// rms_norm_backward: in_place, dX is dY; partial sums of dW for each multiprocessor. Casts (llama, gemma) and offsets
// are the kernels' own.
template <bool in_place>
void norm_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const Tensor x = node.unpack(0);
    const Tensor weight = node.unpack(1);
    const Tensor rstd = node.unpack(2);
    const Tensor dy = contiguous(in[0]);
    const Tensor rows = view(dy, {-1, dy.size(-1)});
    Tensor partial;
    const bool sums = node.wants(1) || !session.stack.has_liger_0_8_5();
    if (sums) partial = empty(session, {session.device.multiprocessors, rows.size(1)}, DType::float32);
    out[0] = view(in_place ? rows : zeros_like(rows), dy.sizes());
    if (sums) out[1] = to(sum_dim(partial, 0, false, DType::float32), weight.dtype());
}
const NodeType kNormBackwardInPlace{"LigerRMSNormFunctionBackward", norm_backward<true>};
const NodeType kNormBackwardApart{"LigerRMSNormFunctionBackward", norm_backward<false>};

// swiglu_backward: the kernel writes over a and b.
void liger_silu_mul_backward(Node& node, Grads& in, Grads& out) {
    const Tensor a = node.unpack(0);
    const Tensor b = node.unpack(1);
    const Tensor dc = contiguous(in[0]);
    if (node.wants(0)) out[0] = view(a, dc.sizes());
    if (node.wants(1)) out[1] = view(b, dc.sizes());
}
const NodeType kLigerSiluMulBackward{"LigerSiLUMulFunctionBackward", liger_silu_mul_backward};

Tensor rope_in_place(const Tensor& t) { return transpose(contiguous(transpose(t, 1, 2)), 1, 2); }

void liger_rope_backward(Node& node, Grads& in, Grads& out) {
    const Tensor cos = node.unpack(0);
    const Tensor sin = node.unpack(1);
    const Tensor dq = contiguous(transpose(in[0], 1, 2));
    const Tensor dk = contiguous(transpose(in[1], 1, 2));
    out[0] = transpose(dq, 1, 2);
    out[1] = transpose(dk, 1, 2);
}
const NodeType kLigerRopeBackward{"LigerRopeFunctionBackward", liger_rope_backward};

}  // namespace

Tensor liger_rms_norm(const Tensor& input, const Tensor& weight, bool in_place) {
    Session& session = input.session();
    Ref<Node> node;
    if (needs_grad(input, weight)) {
        node = make_node(session, in_place ? kNormBackwardInPlace : kNormBackwardApart);
        add_edge(*node, input);
        add_edge(*node, weight);
    }
    const GradMode no_grad(session, false);
    const Tensor x = view(contiguous(input), {-1, input.size(-1)});
    const Tensor y = empty(session, x.sizes(), x.dtype());
    const Tensor rstd = empty(session, {x.size(0)}, DType::float32);
    Tensor out = view(y, input.sizes());
    if (node) {
        set_history(out, node);
        node->save(x);
        node->save(weight);
        node->save(rstd);
    }
    return out;
}

namespace {

template <bool in_place>
Tensor liger_normed(const Norm& norm, const Tensor& input) {
    return called_module(norm, input, [&norm](const Tensor& x) { return liger_rms_norm(x, norm.weight, in_place); });
}

LigerPatches patches_of(const Run& run) { return liger_patches(run.spec.model_type).value_or(LigerPatches{}); }

}  // namespace

bool uses_liger(const Run& run) { return run.plan.training.use_liger_kernel && has_liger(run.spec.model_type); }

bool turns_by_liger(const Run& run) { return uses_liger(run) && patches_of(run).rope; }

NormFunction norm_of_layers(const Run& run, NormFunction own) {
    if (!uses_liger(run)) return own;
    return patches_of(run).norms_in_place ? liger_normed<true> : liger_normed<false>;
}

NormFunction norm_of_heads(const Run& run, NormFunction own) {
    if (!uses_liger(run)) return own;
    const LigerPatches patches = patches_of(run);
    const bool patched = patches.norms_of_heads && (patches.norms_of_heads_in_0_8_1 || run.stack.has_liger_0_8_5());
    return patched ? norm_of_layers(run, own) : own;
}

NormFunction norm_behind_layers(const Run& run, NormFunction own) {
    if (!uses_liger(run)) return own;
    return patches_of(run).last_norm_in_place ? liger_normed<true> : liger_normed<false>;
}

Tensor liger_silu_mul(const Tensor& gate, const Tensor& up) {
    Session& session = gate.session();
    Ref<Node> node;
    if (needs_grad(gate, up)) {
        node = make_node(session, kLigerSiluMulBackward);
        add_edge(*node, gate);
        add_edge(*node, up);
    }
    const GradMode no_grad(session, false);
    const Tensor a = view(contiguous(gate), {-1, gate.size(-1)});
    const Tensor b = view(contiguous(up), {-1, up.size(-1)});
    const Tensor c = empty(session, a.sizes(), a.dtype(), Op::empty_like);
    Tensor out = view(c, gate.sizes());
    if (node) {
        set_history(out, node);
        node->save(a);
        node->save(b);
    }
    return out;
}

void liger_rope(Tensor& q, Tensor& k, const Rotary& rotary) {
    Session& session = q.session();
    Ref<Node> node;
    if (needs_grad(q, k)) {
        node = make_node(session, kLigerRopeBackward);
        add_edge(*node, q);
        add_edge(*node, k);
    }
    const GradMode no_grad(session, false);
    const Tensor rotated_q = rope_in_place(q);
    const Tensor rotated_k = rope_in_place(k);
    if (node) {
        set_history(rotated_q, node);
        set_history(rotated_k, node);
        node->save(rotary.cos);
        node->save(rotary.sin);
    }
    q = rotated_q;
    k = rotated_k;
}

}  // namespace vramfit::model
