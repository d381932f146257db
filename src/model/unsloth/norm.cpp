// unsloth 2026.10.7, kernels/rms_layernorm.py Fast_RMS_Layernorm.
#include "model/unsloth/norm.hpp"

#include <utility>
#include <vector>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// ints[0]: the gradient has memory of its own.
void norm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor given = in[0].is_contiguous() ? detach(in[0]) : clone_contiguous(in[0]);
    out[0] = node.ints[0] > 0 ? empty(*node.session, given.sizes(), given.dtype(), Op::empty_like) : given;
}
const NodeType kNormBackward{"Fast_RMS_LayernormBackward", norm_backward};

}  // namespace

Tensor fused_norm(const Run& run, const Norm&, const Tensor& hidden) {
    Session& session = hidden.session();
    Ref<Node> node;
    if (needs_grad(hidden)) {
        node = make_node(session, kNormBackward);
        add_edge(*node, hidden);
        node->ints[0] = is_gemma(run) ? 1 : 0;
    }
    const GradMode no_grad(session, false);
    Tensor out = empty(session, hidden.sizes(), hidden.dtype(), Op::unsloth_norm);
    const Tensor deviations = empty(session, {hidden.numel() / hidden.size(-1)}, DType::float32, Op::unsloth_norm);
    if (!node) return out;
    set_history(out, node);
    node->save(hidden);
    node->save(deviations);
    return out;
}

// kernels/rms_layernorm.py _multirow_self_check: both kernels over a few rows, the backward pass too.
void check_narrow_norm(const Run& run) {
    constexpr std::int64_t kElements = 4096, kNarrow = 128, kLeast = 33;
    const std::int64_t width = run.spec.head_dim;
    if (width < kLeast || width > kNarrow || std::exchange(run.unsloth->has_checked_norm, true)) return;
    Session& session = run.session;
    const GradMode no_grad(session, false);
    const std::int64_t block = width <= 64 ? 64 : kNarrow;
    const Dims rows{2 * (kElements / block) + 3, width};
    const DType dtype = run.plan.load.dtype;
    Tensor x = empty(session, rows, DType::float32);
    {
        const Tensor exponents = empty(session, rows, DType::int64);
        const Tensor factors = empty(session, rows, DType::float32, Op::to_copy);
        const Tensor powers = empty(session, rows, DType::float32);
        x = empty(session, rows, DType::float32, Op::mul);
    }
    Tensor gradient = empty(session, rows, DType::float32);
    x = to(x, dtype);
    gradient = to(gradient, dtype);
    const Tensor weight = to(empty(session, {width}, DType::float32), dtype);
    std::vector<Tensor> results;
    for (int kernel = 0; kernel < 2; ++kernel) {
        results.push_back(empty(session, rows, dtype, Op::unsloth_norm));
        results.push_back(empty(session, {rows[0]}, DType::float32, Op::unsloth_norm));
        results.push_back(empty(session, rows, dtype, Op::empty_like));
    }
}

}  // namespace vramfit::model
