// unsloth_zoo 2026.10.7: what its fused cross entropy allocates, as traces show it (docs/unsloth.md). Later releases:
// kernel_loss.cpp.
#include "model/unsloth/loss.hpp"

#include <string>
#include <utility>

#include "engine/autocast.hpp"
#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/losses/trial_runs.hpp"
#include "model/unsloth/decoder.hpp"
#include "model/unsloth/kernel_loss.hpp"
#include "model/unsloth/loss_parts.hpp"
#include "model/unsloth/reductions.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The gradients of the hidden states and of a trained head that the forward has made, times that of the loss by the
/// scale of float16's gradients.
void loss_backward(Node& node, Grads& in, Grads& out) {
    const Tensor made = node.unpack(0), of_weight = node.unpack(1);
    const Tensor mean = mean_all(in[0]);
    const Tensor scale = div(mean, 1);
    out[0] = mul(made, scale);
    if (of_weight.defined()) out[1] = mul(of_weight, scale);
}
const NodeType kLossBackward{"UnslothFusedLossBackward", loss_backward};

/// A row's last token has nothing to predict.
Tensor without_ends(const Batch& batch) {
    Session& session = batch.labels.session();
    const Tensor lengths = to(batch.row_lengths, DType::int64);
    const Dims rows = lengths.sizes();
    Tensor inside;
    {
        const Tensor ends = empty(session, rows, DType::int64, Op::cumsum);
        use_scratch(session, scan_scratch(session, rows[0]), Op::cumsum);
        const Tensor covered = compare(Op::lt, ends);
        const Tensor zeros = zeros_like(ends);
        inside = empty(session, rows, DType::int64, Op::where);
    }
    return clone(batch.labels);
}

/// Kernels as they are compiled, now or earlier.
struct Kernels {
    Size pieces;
    bool are_new = false;  ///< tried out
};

/// torch.compile(dynamic=True): sizes are symbols, equal ones the same symbol. In the first forward all is compiled.
Kernels kernels_for(const Run& run, Size tokens, Size width, Size vocabulary) {
    LossKernels& known = run.unsloth->loss_kernels;
    const bool is_square = run.session.decide("as many tokens as the network is wide", tokens == width);
    if (is_square && known.square.is_compiled) return {known.square.pieces, false};
    if (known.general.is_compiled) return {known.general.pieces, false};
    LossKernel& made = is_square ? known.square : known.general;
    made = {true, reduction_pieces(run.session, tokens, vocabulary)};
    return {made.pieces, true};
}

/// A head that is trained is cast to halves first, into memory that its gradient takes later.
Tensor cast_head(const Tensor& weight, DType dtype, bool is_new) {
    if (weight.dtype() == dtype) return {};
    const Tensor cast = empty(weight.session(), weight.sizes(), dtype, Op::compiled);
    if (is_new) try_kernel(weight.session(), {});
    return cast;
}

/// Compiled by Inductor: logits of a part of the tokens, their gradient, those of the hidden states and of a head that
/// is trained. Labels that do not begin on 16 bytes are copied (torch 2.11 _inductor/utils.py copy_misaligned_inputs).
void run_part(const Run& run, Size begin, Size tokens, const Tensor& hidden, const Tensor& weight) {
    Session& session = run.session;
    const auto [pieces, are_new] = kernels_for(run, tokens, hidden.size(-1), weight.size(0));
    Tensor labels;
    if (!session.decide("labels of a part lie on 16 bytes", begin % 2 == 0))
        labels = empty(session, {tokens}, DType::int64, Op::clone);
    Tensor of_weight = cast_head(weight, hidden.dtype(), are_new);
    const Size vocabulary = weight.size(0);
    const Dims all{tokens, vocabulary};
    const auto numbers = [&](Size count) { return empty(session, {count}, DType::float32, Op::compiled); };
    Tensor of_logits = empty(session, all, hidden.dtype(), Op::compiled);
    if (session.decide("few tokens for the loss", pieces > 1)) {
        // Each sum is made of several, and the gradient is written over the logits.
        const Tensor partial = numbers(tokens * pieces);
        const Tensor largest = numbers(tokens);
        if (are_new) try_kernel(session, {});
        const Tensor sums = numbers(tokens);
        if (are_new) try_kernel(session, {});
    } else {
        const Tensor logits = std::exchange(of_logits, {});
        const Tensor largest = numbers(tokens);
        const Tensor sums = numbers(tokens);
        of_logits = empty(session, all, hidden.dtype(), Op::compiled);
        if (are_new && tries_reduction(vocabulary)) try_kernel(session, {});
    }
    labels.reset();
    Tensor of_hidden = empty(session, {tokens, hidden.size(-1)}, hidden.dtype(), Op::compiled);
    if (!weight.requires_grad()) of_logits.reset();
    if (are_new) try_kernel(session, of_hidden);
    if (!weight.requires_grad()) return;
    of_hidden.reset();
    if (!of_weight.defined()) of_weight = empty(session, weight.sizes(), hidden.dtype(), Op::compiled);
    of_logits.reset();
    if (are_new) try_kernel(session, {});
}

Tensor fused_loss(const Run& run, const Tensor& hidden, const Tensor& weight, const Tensor& labels,
                  const Tensor& items) {
    Session& session = run.session;
    const Ref<Node> node = make_node(session, kLossBackward);
    add_edge(*node, hidden);
    if (weight.requires_grad()) add_edge(*node, weight);
    const GradMode no_grad(session, false);
    const Tensor shifted = empty(session, labels.sizes(), DType::int64, Op::compiled);
    const Tensor divisor = divisor_of(items);
    const Tensor gradient = empty(session, hidden.sizes(), hidden.dtype(), Op::compiled);
    const Tensor of_weight = weight.requires_grad() ? zeros_like(weight) : Tensor();
    Tensor loss = zeros(session, {}, DType::float32);
    if (!std::exchange(run.unsloth->has_asked_for_loss, true)) session.recorder.mark(std::string(kAsksForLoss));
    Size begin = 0;
    for (const Size tokens : loss_parts(run, hidden.numel() / hidden.size(-1))) {
        run_part(run, begin, tokens, hidden, weight);
        begin = begin + tokens;
    }
    set_history(loss, node);
    node->save(gradient);
    node->save(of_weight);
    return loss;
}

}  // namespace

Tensor unsloth_loss(const Run& run, const Network& network, const Batch& batch, const Tensor& items,
                    const Place& place) {
    Tensor loss;
    {
        const AutocastScope autocast(run.session, true, *mixed_dtype(run.plan.training));
        Tensor hidden = unsloth_decoder(run, network, batch, place);
        run.session.begin_loss();
        const Tensor labels = run.plan.unsloth.padding_free ? without_ends(batch) : batch.labels;
        const bool by_kernels = run.session.stack.unsloth_scores_by_kernels();
        loss = by_kernels ? kernel_loss(run, hidden, network.head.weight, labels, {items, batch.scored})
                          : fused_loss(run, hidden, network.head.weight, labels, items);
    }
    return mul(loss, 1);
}

}  // namespace vramfit::model
