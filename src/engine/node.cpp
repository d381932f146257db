// Building the tape, and taking it down without recursion.
#include "engine/node.hpp"

#include "engine/backward.hpp"
#include "engine/checkpoint.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

bool grad_enabled(const Session& session) { return session.grad_enabled; }

Ref<Node> make_node(Session& session, const NodeType& type) {
    Node* node = session.nodes.make();
    node->type = &type;
    node->session = &session;
    node->sequence = session.next_sequence[static_cast<std::size_t>(session.thread)]++;
    node->stream = session.recorder.stream;
    node->module = session.recorder.module;
    node->in_loss = session.recorder.fresh == Category::logits_and_loss && node->module == session.loss;
    return Ref<Node>(node);
}

void count_nodes(Session& session, std::size_t count) {
    session.next_sequence[static_cast<std::size_t>(session.thread)] += count;
}

void add_edge(Node& node, const Tensor& input) {
    if (!input.defined() || !input.requires_grad())
        node.next.push_back({});
    else if (input->grad_fn)
        node.next.push_back({input->grad_fn, input->output_nr});
    else
        node.next.push_back({accumulator_of(input), 0});
    const Edge& last = node.next[node.next.size() - 1];
    if (last.valid() && node.type->only_converts) node.takes_parameter_gradient = last.node->takes_parameter_gradient;
}

void set_history(const Tensor& result, const Ref<Node>& node) {
    result->grad_fn = node;
    result->output_nr = static_cast<std::uint16_t>(node->outputs.size());
    node->outputs.push_back({result.sizes(), result.dtype()});
}

void label_saved(const Tensor& t) {
    if (!t.defined()) return;
    const Category known = label_of(t);
    if (known == Category::temporaries)
        label(t, t.session().is_recomputed(t) ? Category::recomputed_activations : Category::stored_activations);
}

void Node::save(const Tensor& t, bool is_output) {
    if (!t.defined()) {
        saved.push_back({});
        return;
    }
    // With hooks on, the tensor goes to the hook and is not kept (saved_variable.cpp set_hooks_and_pack_data).
    switch (session->saved_hook.kind) {
        case SavedHook::Kind::pack: saved.push_back({{}, pack(*session->saved_hook.frame)}); return;
        case SavedHook::Kind::recompute:
            label_saved(t);
            saved.push_back({recomputed(*session->saved_hook.frame, t), {}});
            return;
        case SavedHook::Kind::none: break;
    }
    label_saved(t);
    // An output is saved as a tensor of its own, an input as itself (saved_variable.cpp SavedVariable).
    saved.push_back({is_output && !t.is_leaf() ? detach(t) : t, {}});
}

Tensor Node::unpack(std::size_t i) {
    SavedTensor& s = saved[i];
    return s.holder ? unpack_holder(*s.holder) : s.tensor;
}

// torch/csrc/autograd/function.cpp deleteNode: a long graph must not recurse.
void hold(Node* node) { ++node->refs; }

void drop(Node* node) {
    if (--node->refs > 0) return;
    Session& session = *node->session;
    if (node->variable.defined()) node->variable->accumulator = nullptr;
    session.doomed.push_back(node);
    if (session.deleting) return;
    session.deleting = true;
    while (!session.doomed.empty()) {
        Node* victim = session.doomed.back();
        session.doomed.pop_back();
        session.nodes.recycle(victim);
    }
    session.deleting = false;
}

}  // namespace vramfit::engine
