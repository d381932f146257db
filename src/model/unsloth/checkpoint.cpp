// unsloth_zoo 2026.10.7, gradient_checkpointing.py UnslothCheckpointFunction. Copies to host memory and back are on a
// stream of their own, of which each waits for the other: nothing is kept for them.
#include "model/unsloth/checkpoint.hpp"

#include <string>
#include <utility>

#include "engine/autocast.hpp"
#include "engine/backward.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::int64_t kLeastBytes = 2 << 20;     // MINIMUM_SIZE
constexpr std::int64_t kFirstElements = 1 << 20;  // with which a buffer begins

struct OffloadedState : NodeState {
    Unit unit;
    Tensor buffer;  ///< into which the input comes back
    Dims sizes;
    bool autocast_enabled = false;
    DType autocast_dtype = DType::bfloat16;
};

// The layer runs again on what has come back, then a backward run of its own.
void offloaded_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    auto& state = static_cast<OffloadedState&>(*node.state);
    Tensor input = alias(state.buffer, state.sizes, contiguous_strides(state.sizes));
    input->is_view = false;
    input->is_activation = true;
    input.set_requires_grad(true);
    Tensor result;
    {
        const GradMode grad(session, true);
        const Recomputing recomputing(session);
        const AutocastScope autocast(session, state.autocast_enabled, state.autocast_dtype);
        result = state.unit({&input, 1});
    }
    run_backward({&result, 1}, {&in[0], 1});
    if (node.wants(0)) out[0] = input.grad();
}
const NodeType kOffloadedBackward{"UnslothCheckpointFunctionBackward", offloaded_backward};

Tensor new_buffer(Session& session, Size elements, DType dtype) {
    Tensor buffer = empty(session, {elements}, dtype, Op::unsloth_staging);
    label(buffer, Category::stored_activations);
    return buffer;
}

/// A buffer grows to the size of what it takes.
void grow(Tensor& buffer, const Tensor& hidden) {
    Session& session = hidden.session();
    if (session.decide("staging buffer is large enough", hidden.numel() <= buffer.numel())) return;
    buffer = new_buffer(session, hidden.numel(), hidden.dtype());
}

/// Both begin together; the second one grows once a backward pass has been, if there is room, and ends if there is
/// none.
void prepare(Staging& staging, const Tensor& hidden, bool has_room) {
    Session& session = hidden.session();
    if (!staging.first.defined()) {
        staging.first = new_buffer(session, kFirstElements, hidden.dtype());
        staging.second = new_buffer(session, kFirstElements, hidden.dtype());
    }
    if (staging.uses_both && !std::exchange(staging.has_asked, true)) {
        session.recorder.mark(std::string(kAsksForSecondBuffer));
        if (!has_room) staging.second.reset();
    }
    grow(staging.first, hidden);
    if (staging.uses_both && has_room) grow(staging.second, hidden);
}

Tensor checkpoint_offloaded(const Run& run, const Unit& unit, const Tensor& hidden) {
    Staging& staging = run.unsloth->staging;
    Session& session = hidden.session();
    const Ref<Node> node = make_node(session, kOffloadedBackward);
    add_edge(*node, hidden);
    prepare(staging, hidden, run.plan.unsloth.on_card.second_buffer);
    Tensor out;
    {
        const GradMode no_grad(session, false);
        out = unit({&hidden, 1});
    }
    auto state = std::make_unique<OffloadedState>();
    state->unit = unit;
    state->buffer = staging.first;
    state->sizes = hidden.sizes();
    state->autocast_enabled = session.autocast.enabled;
    state->autocast_dtype = session.autocast.dtype;
    node->state = std::move(state);
    set_history(out, node);
    return out;
}

}  // namespace

// unsloth 2026.10.7, models/_utils.py apply_unsloth_gradient_checkpointing.
bool offloads_inputs(const Run& run) {
    if (run.plan.unsloth.checkpointing != UnslothCheckpointing::offloaded) return false;
    const auto& most = run.plan.unsloth.max_seq_length;
    const Size tokens = most ? Size(*most) : run.sizes.length;
    return run.session.decide("rows are long enough to be offloaded", tokens >= UnslothPlan::kFewestOffloaded);
}

Tensor checkpoint_layer(const Run& run, const Network& network, const DecoderLayer& layer, const Unit& unit,
                        const Tensor& hidden) {
    Staging& staging = run.unsloth->staging;
    const bool is_last = &layer == &network.layers.back();
    const bool may_leave = offloads_inputs(run) && needs_grad(hidden) && (!is_last || staging.first_forward);
    const Size bytes = hidden.numel() * element_size(hidden.dtype());
    if (may_leave && run.session.decide("inputs of layers leave the device", bytes > kLeastBytes))
        return checkpoint_offloaded(run, unit, hidden);
    return checkpoint_reentrant(unit, {hidden});
}

void end_of_forward(const Run& run) {
    run.unsloth->staging.first_forward = false;
    run.unsloth->staging.uses_both = true;
}

}  // namespace vramfit::model
