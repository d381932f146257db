// The autograd engine: ready nodes run highest sequence number first.
#include "engine/backward.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

constexpr std::uint64_t kFirst = std::numeric_limits<std::uint64_t>::max();

/// Whether the node takes the gradients of a piece.
bool is_piece(const Node& node) { return node.variable.defined() && node.variable->is_piece; }

/// torch 2.11 distributed/tensor placement_types.py Shard._replicate_to_shard: a copy of this process's part. Tensor
/// subclasses are not added to in place (input_buffer.cpp).
void take_piece(const Node& node, Tensor& place, const Tensor& grad) {
    const Dims& sizes = node.variable.sizes();
    const Tensor piece = grad.sizes() == sizes ? grad : empty(grad.session(), sizes, grad.dtype(), Op::clone);
    place = place.defined() ? add(place, piece) : piece;
}

/// What enters a node through which nothing but a parameter's gradient goes is that.
void label_gradient(const Node& node, const Tensor& grad) {
    if (node.takes_parameter_gradient && grad.defined()) label(grad, Category::gradients);
}

/// One call of the engine, with its ready queue.
class Task {
  public:
    explicit Task(Session& session) : session_(session) {}
    ~Task() {
        for (TaskState* s : states_) {
            s->node->task = s->outer;
            session_.task_states.recycle(s);
        }
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    bool knows(const Node* node) const { return node->task && node->task->owner == this; }

    TaskState& state(Node* node) {
        if (!knows(node)) {
            TaskState* s = session_.task_states.make();
            s->node = node;
            s->owner = this;
            s->outer = node->task;
            node->task = s;
            states_.push_back(s);
        }
        return *node->task;
    }

    /// Engine::compute_dependencies.
    void count_dependencies(Node* root) {
        if (knows(root)) return;
        state(root);
        std::vector<Node*> open{root};
        while (!open.empty()) {
            Node* node = open.back();
            open.pop_back();
            for (const Edge& edge : node->next) {
                if (!edge.valid()) continue;
                const bool seen = knows(edge.node.get());
                ++state(edge.node.get()).missing;
                if (!seen) open.push_back(edge.node.get());
            }
        }
    }

    void push(Node* node) {
        ready_.push_back({node->sequence, node});
        std::push_heap(ready_.begin(), ready_.end(), before);
    }

    void run() {
        while (!ready_.empty()) {
            std::pop_heap(ready_.begin(), ready_.end(), before);
            Node* node = ready_.back().node;
            ready_.pop_back();
            evaluate(*node);
        }
        wait_for_leaves();
    }

    /// InputBuffer::add, on the stream of the node that takes the gradient.
    void give(Node* node, std::uint32_t input, Tensor& grad) {
        Grads& buffer = state(node).buffer;
        if (buffer.size() <= input) buffer.resize(input + 1);
        label_gradient(*node, grad);
        const OnStream consumer(session_.recorder, hand_over(*node, grad));
        if (is_piece(*node))
            take_piece(*node, buffer[input], grad);
        else if (buffer[input].defined())
            accumulate(buffer[input], grad);
        else
            buffer[input] = std::move(grad);
    }

  private:
    struct Ready {
        std::uint64_t sequence;
        Node* node;
    };
    static bool before(const Ready& a, const Ready& b) { return a.sequence < b.sequence; }
    void evaluate(Node& node);
    std::uint8_t hand_over(const Node& node, const Tensor& grad);
    void wait_for_leaves();
    static void accumulate(Tensor& old, const Tensor& grad);

    Session& session_;
    std::vector<TaskState*> states_;
    std::vector<Ready> ready_;
};

// input_buffer.cpp can_accumulate_inplace: dense, and the buffer holds the last reference to tensor and storage.
// A view keeps its base alive (ViewInfo in torch/csrc/autograd/variable.h), so its storage is never its own.
bool can_accumulate_in_place(const Tensor& t) {
    return is_non_overlapping_and_dense(t.sizes(), t.strides()) && t.use_count() == 1 && t->storage->refs == 1 &&
           !t->is_view;
}

void Task::accumulate(Tensor& old, const Tensor& grad) {
    if (can_accumulate_in_place(old))
        add_(old, grad);
    else
        old = add(old, grad);
}

// torch 2.11 input_buffer.cpp and engine.cpp evaluate_function: the consumer's stream waits for the producer's, and the
// memory is marked as used there.
std::uint8_t Task::hand_over(const Node& node, const Tensor& grad) {
    const std::uint8_t producer = session_.recorder.stream;
    if (producer == node.stream) return producer;
    session_.streams.wait(node.stream, producer);
    session_.streams.record(grad, node.stream);
    return node.stream;
}

// GraphTask::exec_post_processing: the caller's stream waits for those on which gradients became leaves'.
void Task::wait_for_leaves() {
    const std::uint8_t caller = session_.recorder.stream;
    for (const TaskState* s : states_)
        if (s->node->variable.defined() && s->node->stream != caller) session_.streams.wait(caller, s->node->stream);
}

/// engine.cpp validate_outputs: gradients are summed to the input's shape, then cast to its dtype.
void validate_outputs(Node& node, Grads& out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (!out[i].defined() || !node.next[i].valid()) continue;
        const Edge& edge = node.next[i];
        if (is_piece(*edge.node)) continue;
        const OutputMeta& meta = edge.node->outputs[edge.input];
        if (!(out[i].sizes() == meta.sizes)) out[i] = sum_to(out[i], meta.sizes);
        if (out[i].dtype() != meta.dtype) out[i] = to(out[i], meta.dtype);
    }
}

void Task::evaluate(Node& node) {
    const OnStream own(session_.recorder, node.stream);
    const Scoped<Module> module(session_.recorder.module, node.module);
    const Scoped<Category> fresh(session_.recorder.fresh,
                                 node.in_loss ? Category::logits_and_loss : Category::activation_gradients);
    if (node.hook) (*node.hook)();
    const Phase* phase = node.on_complete ? node.on_complete.get() : nullptr;
    if (node.variable.defined() && node.variable->on_complete) phase = node.variable->on_complete.get();
    if (phase) session_.recorder.begin(*phase);
    Grads out;
    {
        Grads in = std::exchange(node.task->buffer, Grads{});
        in.resize(node.outputs.size());
        out.resize(node.next.size());
        // Generated nodes do nothing without any gradient; they run all the same, so that those behind them can.
        const bool any = std::any_of(in.begin(), in.end(), [](const Tensor& grad) { return grad.defined(); });
        if (any) {
            for (const Tensor& grad : in) label_gradient(node, grad);
            node.type->backward(node, in, out);
            validate_outputs(node, out);
        }
    }
    node.saved.clear();
    for (std::size_t i = 0; i < out.size(); ++i) {
        Edge& edge = node.next[i];
        if (!edge.valid()) continue;
        Node* next = edge.node.get();
        if (out[i].defined()) give(next, edge.input, out[i]);
        if (--state(next).missing == 0) push(next);
    }
}

// utils/grad_layout_contract.h obeys_layout_contract: 1 where it does not.
Size breaks_layout_contract(const Tensor& grad, const Tensor& variable) {
    if (!is_non_overlapping_and_dense(variable.sizes(), variable.strides())) return !grad.is_contiguous();
    Size breaks = 0;
    for (int i = 0; i < grad.dim(); ++i) {
        Size breaks_here = indicator_differ(grad.strides()[i], variable.strides()[i]);
        if (!same(breaks_here, 0)) breaks_here *= indicator_differ(grad.size(i), 1);
        if (same(breaks, breaks_here) || same(breaks_here, 0)) continue;
        if (same(breaks_here, 1)) return 1;
        breaks = same(breaks, 0) ? breaks_here : Size(breaks + breaks_here > 0);
    }
    return breaks;
}

/// The gradient as it becomes the variable's: itself, or a copy with the variable's strides. Its storage is not used by
/// other streams where no hook waits for it.
Tensor taken_gradient(const Tensor& grad, const Tensor& variable) {
    const Size clones = grad.use_count() == 1 ? breaks_layout_contract(grad, variable) : Size(1);
    if (clones.is_symbolic() && grad->storage->refs == 1 && !variable.session().after_accumulate)
        return moved_or_cloned(grad, variable.strides(), clones);
    return clones > 0 ? clone_as(grad, variable) : detach(grad);
}

// functions/accumulate_grad.cpp AccumulateGrad_apply_impl, accumulate_grad.h accumulateGrad, with grad mode off.
void accumulate_grad_backward(Node& node, Grads& in, Grads&) {
    if (!in[0].defined()) return;
    Tensor grad = std::move(in[0]);
    const Tensor& variable = node.variable;
    if (variable->grad) {
        add_(variable.grad(), grad);
    } else {
        Tensor taken = taken_gradient(grad, variable);
        taken->is_view = false;  // detach outside of the graph keeps no base
        if (!variable->is_activation) {
            label(taken, Category::gradients);
            // A weight that two modules share is the first one's; flat memory is not one parameter's.
            Recorder& recorder = variable.session().recorder;
            const Module owner = recorder.place_of(variable->storage->id);
            if (!(owner == Module{}) && same(variable->storage->bytes, taken->storage->bytes))
                recorder.place(taken->storage->id, owner);
        }
        variable->grad = taken.ref();
    }
    if (!variable.session().hook_gets_gradient) grad.reset();
    const auto& hook = variable.session().after_accumulate;
    if (hook) hook(variable);
}

constexpr NodeType kAccumulateGrad{"AccumulateGrad", accumulate_grad_backward};

}  // namespace

Ref<Node> accumulator_of(const Tensor& leaf) {
    if (leaf->accumulator) return Ref<Node>(leaf->accumulator);
    Ref<Node> node = make_node(leaf.session(), kAccumulateGrad);
    --leaf.session().next_sequence[static_cast<std::size_t>(leaf.session().thread)];
    node->sequence = kFirst;
    node->variable = leaf;
    node->takes_parameter_gradient = !leaf->is_activation;
    node->in_loss = false;
    node->outputs.push_back({leaf.sizes(), leaf.dtype()});
    leaf->accumulator = node.get();
    return node;
}

void on_gradient_complete(const Tensor& tensor, const Phase& phase) {
    if (!tensor.requires_grad() || tensor.session().recorder.holds_phase) return;
    auto& place = tensor.is_leaf() ? tensor->on_complete : tensor->grad_fn->on_complete;
    place = std::make_unique<Phase>(phase);
}

Ref<Node> on_gradient(const Tensor& t, std::function<void()> hook) {
    Ref<Node> node = t.is_leaf() ? accumulator_of(t) : t->grad_fn;
    if (node->hook)
        hook = [first = std::move(*node->hook), second = std::move(hook)] {
            first();
            second();
        };
    node->hook = std::make_unique<std::function<void()>>(std::move(hook));
    return node;
}

void run_backward(std::span<const Tensor> roots, std::span<const Tensor> grads) {
    Session& session = roots[0].session();
    const bool is_outermost = session.thread == Thread::main;
    Scoped<Thread> thread(session.thread, Thread::autograd);
    Scoped<bool> no_autocast(session.autocast.enabled, false);
    GradMode no_grad(session, false);
    Task task(session);
    std::vector<Ref<Node>> starts;
    for (const Tensor& root : roots) {
        starts.push_back(root.is_leaf() ? accumulator_of(root) : root->grad_fn);
        task.count_dependencies(starts.back().get());
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {
        Tensor grad = grads[i];
        task.give(starts[i].get(), roots[i].is_leaf() ? 0 : roots[i]->output_nr, grad);
    }
    for (const auto& start : starts)
        if (start->task->missing == 0) task.push(start.get());
    task.run();
    if (is_outermost && session.after_backward) session.after_backward();
}

void backward(const Tensor& loss) {
    const Tensor grad = ones_like(loss);
    run_backward({&loss, 1}, {&grad, 1});
}

}  // namespace vramfit::engine
