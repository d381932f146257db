// unsloth_zoo 2026.10.9: what the loss of fused_losses/fused_linear.py allocates, as traces show it (docs/unsloth.md).
#include "model/unsloth/kernel_loss.hpp"

#include <string>
#include <utility>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/unsloth/kernel_loss_rows.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor lone_number(Session& session, DType dtype, Op op) { return empty(session, {}, dtype, op); }

/// A number on the device, 1 in place of 0.
Tensor one_for_zero(Session& session) {
    const Tensor none = lone_number(session, DType::boolean, Op::eq);
    const Tensor one = lone_number(session, DType::float32, Op::ones_like);
    return lone_number(session, DType::float32, Op::where);
}

/// A gradient that the forward has made, times that of the loss and by the scale of float16's gradients.
Tensor scaled_gradient(const Tensor& made, const Tensor& factor) {
    const Tensor rounded = to(factor, DType::float32);
    return empty(made.session(), made.sizes(), made.dtype(), Op::unsloth_scale);
}

/// Of the hidden states, and of a head that is trained.
void kernel_loss_backward(Node& node, Grads& in, Grads& out) {
    const Tensor made = node.unpack(0), scaling = node.unpack(1), of_weight = node.unpack(2);
    Tensor factor;
    {
        const Tensor above = to(in[0], DType::float64), below = to(scaling, DType::float64);
        factor = div(above, below);
    }
    out[0] = view(scaled_gradient(made, factor), node.dims[0]);
    if (of_weight.defined()) out[1] = scaled_gradient(of_weight, factor);
}
const NodeType kKernelLossBackward{"fused_linear_ce_v2_defaultBackward", kernel_loss_backward};

/// What each token predicts; the last one nothing.
Tensor labels_ahead(const Tensor& labels) {
    Session& session = labels.session();
    const Tensor none = empty(session, {labels.size(0), 1}, DType::int64, Op::full_like);
    return empty(session, {labels.numel()}, DType::int64, Op::cat);
}

/// The scale of float16's gradients is a number of the host until it has been used once.
Tensor scaling_of(const Run& run) {
    Session& session = run.session;
    if (!run.plan.training.fp16) return lone_number(session, DType::float32, Op::ones);
    Tensor from_host;
    if (!run.unsloth->has_compiled_loss) from_host = lone_number(session, DType::float32, Op::to_copy);
    return one_for_zero(session);
}

/// A label beyond the vocabulary stops the run on the device.
std::pair<Tensor, Tensor> check_labels(const Tensor& targets) {
    Tensor beyond;
    {
        const Tensor labelled = compare(Op::ne, targets);
        Tensor outside;
        {
            const Tensor below = compare(Op::lt, targets), above = compare(Op::ge, targets);
            outside = compare(Op::bitwise_or, below, above);
        }
        beyond = compare(Op::bitwise_and, labelled, outside);
    }
    const Tensor any = reduce(beyond, 1, false, DType::boolean, Op::any);
    return {beyond, compare(Op::logical_not, any)};
}

/// The places of labels.
Tensor places_of_labels(const Tensor& targets, Size scored) {
    Tensor kept;
    {
        const Tensor above = compare(Op::ge, targets), below = compare(Op::lt, targets);
        kept = compare(Op::bitwise_and, above, below);
    }
    (void)compare(Op::ne, targets);
    return view(nonzero(kept, scored), {scored});
}

/// Asks once whether the card multiplies half numbers to float32.
void try_product(const Run& run, DType dtype) {
    if (std::exchange(run.unsloth->has_tried_product, true)) return;
    constexpr int kSide = 8;
    const Tensor ones = empty(run.session, {kSide, kSide}, dtype, Op::ones);
    cublas_workspace(run.session);
    (void)empty(run.session, {kSide, kSide}, DType::float32, Op::mm);
}

/// A product into memory that is there.
Tensor product_of_halves(const Dims& sizes, Session& session) {
    cublas_workspace(session);
    return empty(session, sizes, DType::float32, Op::mm);
}

/// Scored tokens, and what is made of them.
struct LossRows {
    const Tensor& hidden;   ///< [T, H]
    const Tensor& targets;  ///< [T]
    const Tensor& places;   ///< [N]
    const Tensor& weight;   ///< [V, H]
};

/// Some of the rows, picked.
struct PickedRows {
    Tensor hidden, targets;
};

void pick_rows(const LossRows& rows, Size count, PickedRows& into) {
    const Tensor some = slice(rows.places, 0, 0, count);
    into.hidden = index_select(rows.hidden, some);
    into.targets = index_select(rows.targets, some);
}

Size splits_of_row(Size vocabulary) {
    const Size splits = ceil_div(vocabulary, Size(kColumnsOfSplit));
    return splits.value() > 2 ? splits : Size(1);
}

/// Into how many tokens the rows are cut.
std::vector<Size> cut_rows(Session& session, Size all, Size each) {
    std::vector<Size> out;
    while (session.decide("more tokens than the loss takes at once", all > each)) {
        out.push_back(each);
        all = all - each;
    }
    out.push_back(all);
    return out;
}

/// Gradients in half numbers are those of a power of two, times what is left in float32. A trained head's are summed in
/// its own dtype, for halves without.
struct Factor {
    Tensor power, ratio;
};

Factor factor_of(Session& session, Tensor divided, bool splits) {
    if (!splits) return {divided, {}};
    Factor out;
    {
        const Tensor log = lone_number(session, DType::float32, Op::log2);
        const Tensor whole = lone_number(session, DType::float32, Op::round);
        out.power = lone_number(session, DType::float32, Op::exp2);
    }
    out.ratio = div(divided, out.power);
    return out;
}

/// Logits of some tokens after those of others in one buffer, in which their gradient takes their place.
void score_in_chunks(Session& session, const LossRows& rows, const std::vector<Size>& chunks, Tensor divided) {
    const Size vocabulary = rows.weight.size(0);
    const Tensor buffer = empty(session, {chunks.front(), round_up(vocabulary, 8)}, DType::float32, Op::compiled);
    const bool splits_scale = !rows.weight.requires_grad() || rows.weight.dtype() == DType::float32;
    const Factor factor = factor_of(session, std::move(divided), splits_scale);
    const Size splits = splits_of_row(vocabulary);
    PickedRows picked;
    Tensor sums, of_hidden;
    for (const Size count : chunks) {
        pick_rows(rows, count, picked);
        cublas_workspace(session);
        const Tensor now = empty(session, {count}, DType::float32, Op::compiled);
        if (splits.value() > 1) (void)empty(session, {Size(7), splits, count}, DType::float32, Op::compiled);
        (void)neg(factor.power);
        sums = now;
        of_hidden = product_of_halves({count, rows.hidden.size(1)}, session);
        (void)to(of_hidden, rows.hidden.dtype());
    }
}

/// Logits of pieces of the vocabulary, one after the other.
void score_in_tiles(Session& session, const LossRows& rows, const std::vector<Size>& chunks, Size columns,
                    const Tensor& divided) {
    const Tensor sums = empty(session, {rows.places.size(0)}, DType::float32, Op::compiled);
    const Tensor scale = neg(divided);
    const Size width = rows.hidden.size(1);
    const Tensor buffer = empty(session, {chunks.front(), columns}, DType::float32, Op::compiled);
    const Tensor gradient = empty(session, {chunks.front(), width}, DType::float32, Op::compiled);
    const Tensor largest = empty(session, {chunks.front()}, DType::float32, Op::compiled);
    const Size splits = splits_of_row(rows.weight.size(0));
    PickedRows picked;
    Tensor parts;
    for (const Size count : chunks) {
        pick_rows(rows, count, picked);
        parts = empty(session, {Size(8), splits, count}, DType::float32, Op::compiled);
        cublas_workspace(session);
    }
}

Tensor mean_loss(const Tensor& log_probabilities, const Tensor& divisor) {
    Tensor out;
    const Tensor turned = neg(to(log_probabilities, DType::float64));
    {
        Tensor mean;
        {
            const Tensor sum = reduce(turned, 1, false, DType::float64, Op::sum);
            mean = div(sum, to(divisor, DType::float64));
        }
        out = to(mean, DType::float32);
    }
    return out;
}

/// The loss, and the gradient of the hidden states beside it.
Tensor score_labels(const Run& run, const LossRows& rows, const Tensor& divisor, const Tensor& scaling) {
    Session& session = run.session;
    const Size scored = rows.places.size(0);
    try_product(run, rows.hidden.dtype());
    if (!std::exchange(run.unsloth->has_asked_for_loss, true)) session.recorder.mark(std::string(kAsksForLoss));
    const KernelLossLayout path = kernel_loss_layout(run, scored);
    const std::vector<Size> chunks = cut_rows(session, scored, path.rows);
    const Tensor in_halves = to(detach(rows.weight), rows.hidden.dtype());  // weights of a head trained in float32
    Tensor divided = div(scaling, divisor);
    const Tensor log_probabilities = empty(session, {scored}, DType::float32, Op::compiled);
    if (path.tiled)
        score_in_tiles(session, rows, chunks, path.columns, divided);
    else
        score_in_chunks(session, rows, chunks, std::move(divided));
    return mean_loss(log_probabilities, divisor);
}

}  // namespace

Tensor divisor_of(const Tensor& items) {
    const Tensor number = to(items, DType::float32);
    return one_for_zero(items.session());
}

Tensor kernel_loss(const Run& run, const Tensor& hidden, const Tensor& weight, const Tensor& labels,
                   const CountedLabels& scored) {
    Session& session = run.session;
    const Ref<Node> node = make_node(session, kKernelLossBackward);
    add_edge(*node, hidden);
    if (weight.requires_grad()) add_edge(*node, weight);
    node->dims[0] = hidden.sizes();
    const GradMode no_grad(session, false);
    const Tensor targets = labels_ahead(labels);
    const Tensor divisor = divisor_of(scored.items);
    const Tensor checked = one_for_zero(session);
    const Tensor scaling = scaling_of(run);
    run.unsloth->has_compiled_loss = true;
    const auto beyond = check_labels(targets);
    const Tensor places = places_of_labels(targets, scored.tokens);
    const Size width = hidden.size(-1);
    const Size tokens = hidden.numel() / width;
    const Tensor gradient = zeros(session, {tokens, width}, hidden.dtype());
    const Tensor of_weight = weight.requires_grad() ? zeros(session, weight.sizes(), weight.dtype()) : Tensor();
    const Tensor empty_loss = zeros(session, {}, DType::float32);
    const LossRows rows{view(detach(hidden), {tokens, width}), targets, places, weight};
    Tensor loss = score_labels(run, rows, checked, scaling);
    set_history(loss, node);
    node->save(gradient);
    node->save(scaling);
    node->save(of_weight);
    return loss;
}

}  // namespace vramfit::model
