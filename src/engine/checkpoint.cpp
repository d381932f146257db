// CheckpointFunction and _checkpoint_without_reentrant_generator.
#include "engine/checkpoint.hpp"

#include "engine/autocast.hpp"
#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// _StopRecomputationError: everything that backward needs has been recomputed.
struct StopRecomputation {};

struct ReentrantState : NodeState {
    UnitOfSeveral unit;
    bool autocast_enabled = false;
    DType autocast_dtype = DType::bfloat16;
};

UnitOfSeveral with_one_result(Unit unit) {
    return [unit = std::move(unit)](std::span<const Tensor> called_with) {
        return std::vector<Tensor>{unit(called_with)};
    };
}

/// detach_variable.
Tensor detached_leaf(const Tensor& t) {
    if (!t.defined()) return t;
    Tensor out = detach(t);
    out->is_view = false;
    out.set_requires_grad(t.requires_grad());
    out->is_activation = true;
    return out;
}

/// torch 2.11 torch/csrc/autograd/python_function.cpp PyNode::apply: results that nothing used have gradients of zeros.
void materialize(const Node& node, Grads& in) {
    in.resize(node.outputs.size());
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (!in[i].defined()) in[i] = zeros(*node.session, node.outputs[i].sizes, node.outputs[i].dtype);
}

// CheckpointFunction.backward: forward again with grad, then a backward run of its own. The incoming gradients
// are referenced by Python throughout.
void checkpoint_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const auto& state = static_cast<const ReentrantState&>(*node.state);
    materialize(node, in);
    Arguments inputs;
    for (std::size_t i = 0; i < node.saved.size(); ++i) inputs.push_back(detached_leaf(node.unpack(i)));
    std::vector<Tensor> results;
    {
        const GradMode grad(session, true);
        const Recomputing recomputing(session);
        const AutocastScope autocast(session, state.autocast_enabled, state.autocast_dtype);
        results = state.unit(inputs);
    }
    std::vector<Tensor> roots, grads;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i].requires_grad()) continue;
        roots.push_back(results[i]);
        grads.push_back(in[i]);
    }
    run_backward(roots, grads);
    if (node.wants(0)) out[0] = inputs[0].grad();
}
const NodeType kCheckpointBackward{"CheckpointFunctionBackward", checkpoint_backward};

}  // namespace

Tensor checkpoint_reentrant(Unit unit, const Arguments& arguments) {
    return checkpoint_reentrant(with_one_result(std::move(unit)), arguments).front();
}

std::vector<Tensor> checkpoint_reentrant(UnitOfSeveral unit, const Arguments& arguments) {
    Session& session = arguments[0].session();
    Ref<Node> node;
    if (needs_grad(arguments[0])) {
        node = make_node(session, kCheckpointBackward);
        for (const Tensor& t : arguments) add_edge(*node, t);
    }
    std::vector<Tensor> out;
    {
        const GradMode no_grad(session, false);
        out = unit(arguments);
    }
    if (!node) return out;
    auto state = std::make_unique<ReentrantState>();
    state->unit = std::move(unit);
    state->autocast_enabled = session.autocast.enabled;
    state->autocast_dtype = session.autocast.dtype;
    node->state = std::move(state);
    for (const Tensor& t : arguments) node->save(t);
    for (const Tensor& t : out) set_history(t, node);
    return out;
}

namespace {

/// _NoopSaveInputs: what a unit is called with within another one is that one's to recompute.
const NodeType kSaveInputs{"_NoopSaveInputsBackward", [](Node&, Grads&, Grads&) {}};

void save_inputs(CheckpointFrame& frame, const Arguments& arguments) {
    frame.input_saver = make_node(*frame.session, kSaveInputs);
    for (const Tensor& t : arguments) {
        frame.needs_grad.push_back(t.defined() && t.requires_grad());
        frame.input_saver->save(t);
    }
}

/// As saved variables give them back: with the need for a gradient that they had.
Arguments arguments_of(const CheckpointFrame& frame) {
    if (!frame.input_saver) return frame.arguments;
    Arguments out;
    for (std::size_t i = 0; i < frame.input_saver->saved.size(); ++i) {
        Tensor t = frame.input_saver->unpack(i);
        if (t.defined() && frame.needs_grad.at(i) && !t.requires_grad()) {
            t = detach(t);
            t.set_requires_grad(true);
        }
        out.push_back(std::move(t));
    }
    return out;
}

}  // namespace

Tensor checkpoint_non_reentrant(Unit unit, const Arguments& arguments) {
    return checkpoint_non_reentrant(with_one_result(std::move(unit)), arguments).front();
}

std::vector<Tensor> checkpoint_non_reentrant(UnitOfSeveral unit, const Arguments& arguments) {
    return checkpoint_non_reentrant(arguments[0].session(), std::move(unit), arguments);
}

std::vector<Tensor> checkpoint_non_reentrant(Session& session, UnitOfSeveral unit, const Arguments& arguments) {
    if (!session.grad_enabled) return unit(arguments);
    Ref<CheckpointFrame> frame(new CheckpointFrame);
    frame->session = &session;
    frame->unit = unit;
    if (session.saved_hook.kind == SavedHook::Kind::none)
        frame->arguments = arguments;
    else
        save_inputs(*frame, arguments);
    frame->autocast_enabled = session.autocast.enabled;
    frame->autocast_dtype = session.autocast.dtype;
    for (const Tensor& t : arguments) label_saved(t);
    const Scoped<SavedHook> hook(session.saved_hook, {SavedHook::Kind::pack, frame});
    return unit(arguments);
}

Ref<Holder> pack(CheckpointFrame& frame) {
    Ref<Holder> holder(frame.session->holders.make());
    holder->frame = Ref<CheckpointFrame>(&frame);
    holder->index = frame.holders.size();
    frame.holders.push_back(holder.get());
    return holder;
}

Tensor recomputed(CheckpointFrame& frame, const Tensor& t) {
    Tensor kept = t.requires_grad() ? detach(t) : t;
    Holder* holder = frame.holders.at(frame.recomputed++);
    if (holder) holder->value = kept;
    if (frame.recomputed == frame.holders.size()) throw StopRecomputation{};
    return kept;
}

Tensor unpack_holder(Holder& holder) {
    CheckpointFrame& frame = *holder.frame;
    Session& session = *frame.session;
    if (!frame.is_recomputed) {
        const Arguments arguments = arguments_of(frame);
        const GradMode grad(session, true);
        const Recomputing recomputing(session);
        const Scoped<Module> module(session.recorder.module, session.recorder.module);
        const Scoped<SavedHook> hook(session.saved_hook, {SavedHook::Kind::recompute, holder.frame});
        try {
            const AutocastScope autocast(session, frame.autocast_enabled, frame.autocast_dtype);
            frame.unit(arguments);
        } catch (const StopRecomputation&) {  // NOLINT: the normal end
        }
        frame.is_recomputed = true;
    }
    return std::move(holder.value);
}

void hold(CheckpointFrame* frame) { ++frame->refs; }
void drop(CheckpointFrame* frame) {
    if (--frame->refs == 0) delete frame;
}

void hold(Holder* holder) { ++holder->refs; }
void drop(Holder* holder) {
    if (--holder->refs > 0) return;
    const Ref<CheckpointFrame> frame = holder->frame;
    frame->holders[holder->index] = nullptr;
    frame->session->holders.recycle(holder);
}

}  // namespace vramfit::engine
