// axolotl-ai-cloud/ml-cross-entropy 5f0c7a7: transformers/utils.py apply_lce, cce.py, cce_lse_forward.py,
// indexed_dot.py, cce_backward.py, utils.py; impl "cce", filter_eps "auto", Triton's configurations without autotuning.
#include "model/losses/cut_loss.hpp"

#include <memory>
#include <utility>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/losses/trial_runs.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor filled(Session& session, const Dims& sizes, DType dtype) { return empty(session, sizes, dtype, Op::full); }

/// sort_logit_avg, compiled: the sort is ATen's, its cast a kernel of its own, which is tried out when it runs for the
/// first time on a machine. Few elements are sorted in one kernel (torch 2.11 _inductor/ir.py Sort.create: max_rblock).
Tensor sorted_places(const Tensor& logit_avg) {
    Session& session = logit_avg.session();
    if (logit_avg.numel() <= 512) return filled(session, logit_avg.sizes(), DType::int32);
    const Tensor indices = sort(logit_avg).indices;
    Tensor places = to(indices, DType::int32);
    if (!std::exchange(session.has_sorted_logits, true)) try_kernel(session, {});
    return places;
}

/// ctx.params, which has the targets and their places.
struct CutLossState : NodeState {
    Tensor targets, valids;
};

/// cce_backward_kernel: gradients of zeros in the operands' dtypes, and the locks under which blocks add to them.
void cut_loss_backward(Node& node, Grads&, Grads& out) {
    Session& session = *node.session;
    const Tensor e = node.unpack(0);
    const Tensor c = node.unpack(1);
    const Tensor lse = node.unpack(2);
    const Tensor logit_avg = node.unpack(5);
    const Tensor ordering = sorted_places(logit_avg);
    Tensor de, dc, de_locks, dc_locks;
    if (node.wants(0)) de = zeros_like(e);
    if (node.wants(1)) dc = zeros_like(c);
    const Size columns = ceil_div(c.size(1), 64);
    if (de.defined()) de_locks = zeros(session, {ceil_div(lse.size(0), 128), columns}, DType::int32);
    if (dc.defined()) dc_locks = zeros(session, {ceil_div(c.size(0), 128), columns}, DType::int32);
    if (de.defined()) out[0] = de;
    if (dc.defined()) out[1] = dc;
}
const NodeType kCutLossBackward{"LinearCrossEntropyFunctionBackward", cut_loss_backward};

/// _build_flat_valids with a shift: the places of labels, counted through the whole batch.
Tensor flat_valids(const Tensor& targets, Size count) {
    Tensor found;
    {
        const Tensor shifted = slice(targets, 1, 1, targets.size(1));
        const Tensor labelled = compare(Op::ne, shifted);
        found = nonzero(labelled, count);
    }
    const Tensor places = to(found, DType::int32);
    found.reset();
    return sum_dim(places, 1, false, DType::int64);
}

/// LinearCrossEntropyFunction with reduction "sum": e -- [T, H].
Tensor linear_cross_entropy(const Tensor& e, const Tensor& c, const Tensor& targets, const Tensor& valids) {
    Session& session = e.session();
    Ref<Node> node;
    if (needs_grad(e, c)) {
        node = make_node(session, kCutLossBackward);
        add_edge(*node, e);
        add_edge(*node, c);
    }
    const bool filters = e.requires_grad() || c.requires_grad();
    const GradMode no_grad(session, false);
    const Size count = valids.size(0);
    Tensor lse, logit_avg;
    {
        lse = filled(session, {count}, DType::float32);
        const Tensor locks = filled(session, {ceil_div(count, 128)}, DType::int32);
        if (filters) logit_avg = filled(session, {c.size(0)}, DType::float32);
    }
    const Tensor neg_dot = zeros(session, {count}, DType::float32);
    Tensor loss = sum_all(neg_dot);
    if (node) {
        set_history(loss, node);
        const Tensor* const saved[] = {&e, &c, &lse, &targets, &valids, &logit_avg};
        for (const Tensor* t : saved) node->save(*t);
        auto params = std::make_unique<CutLossState>();
        params->targets = targets;
        params->valids = valids;
        label_saved(valids);
        node->state = std::move(params);
    }
    return loss;
}

}  // namespace

Tensor cut_loss(const Tensor& hidden, const Tensor& weight, const Tensor& labels, const Tensor& items) {
    if (weight.dtype() == DType::float32)
        throw Error(ErrorKind::invalid, "training.cut_cross_entropy",
                    "the backward pass takes only heads in 16 bit (cut_cross_entropy: Backwards requires classifier to "
                    "be bf16 or fp16)",
                    "load the network in bfloat16");
    const Tensor e = hidden.dtype() == weight.dtype() ? hidden : to(hidden, weight.dtype());
    const Tensor valids = flat_valids(labels, labels.size(0) * (labels.size(1) - 1));
    const Tensor loss = linear_cross_entropy(view(e, {-1, e.size(-1)}), weight, view(labels, {-1}), valids);
    return items.defined() ? div(loss, items) : loss;
}

}  // namespace vramfit::model
