// The tape: a node owns what it saved, and its backward is a plain function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/inline_vector.hpp"
#include "engine/module.hpp"
#include "engine/tensor.hpp"
#include "vramfit/trace/phase.hpp"

namespace vramfit::engine {

struct CheckpointFrame;
void hold(CheckpointFrame* frame);
void drop(CheckpointFrame* frame);

struct Holder;
void hold(Holder* holder);
void drop(Holder* holder);

/// What stands in place of a saved tensor of a checkpointed unit (torch/utils/checkpoint.py _Holder).
struct Holder {
    std::uint32_t refs = 0;
    Ref<CheckpointFrame> frame;
    std::size_t index = 0;  ///< its place among the frame's holders
    Tensor value;           ///< filled by the recomputation, emptied when the node asks for it
};

/// torch/csrc/autograd/saved_variable.h: the tensor itself, or a placeholder.
struct SavedTensor {
    Tensor tensor;
    Ref<Holder> holder;
};

/// One input of a node's function: which node takes the gradient, and as which of its inputs.
struct Edge {
    Ref<Node> node;
    std::uint32_t input = 0;
    bool valid() const { return static_cast<bool>(node); }
};

using Grads = InlineVector<Tensor, 3>;

/// Computes the gradients of a node's inputs. `out` has one undefined tensor for each edge.
/// `in` stays alive until the function has returned, the saved tensors a little longer.
using BackwardFunction = void (*)(Node& node, Grads& in, Grads& out);

struct NodeType {
    const char* name;
    BackwardFunction backward;
    bool only_converts = false;  ///< a cast or a transposition: a parameter's gradient goes through it
};

/// Shape and dtype of an output, that is of a gradient that enters the node.
struct OutputMeta {
    Dims sizes;
    DType dtype = DType::float32;
};

/// Attributes of a Python autograd function: they live until the node dies (plain attributes of `ctx`).
struct NodeState {
    virtual ~NodeState() = default;
};

/// What one run of the engine knows about a node: gradients that have arrived, gradients still to come.
struct TaskState {
    Node* node = nullptr;
    const void* owner = nullptr;  ///< the run
    int missing = 0;
    Grads buffer;
    TaskState* outer = nullptr;  ///< the state of an enclosing run (reentrant checkpointing)
};

struct Node {
    std::uint32_t refs = 0;
    const NodeType* type = nullptr;
    Session* session = nullptr;
    std::uint64_t sequence = 0;
    std::uint8_t stream = 0;                ///< on which its forward was recorded, and its backward runs
    bool takes_parameter_gradient = false;  ///< ... and nothing else, converted or not
    bool in_loss = false;                   ///< of what comes behind the head
    Module module;                          ///< that was being run
    TaskState* task = nullptr;              ///< of the running backward
    InlineVector<Edge, 3> next;
    InlineVector<SavedTensor, 4> saved;
    InlineVector<OutputMeta, 1> outputs;
    // What the backward function needs besides tensors: sizes, strides, dimensions.
    Dims dims[3];
    Size ints[6] = {};
    DType dtypes[2] = {};
    Tensor variable;  ///< AccumulateGrad: the leaf
    std::unique_ptr<NodeState> state;
    std::unique_ptr<Phase> on_complete;           ///< window that begins when the node's gradient is complete
    std::unique_ptr<std::function<void()>> hook;  ///< Tensor.register_hook: runs before that

    bool wants(std::size_t i) const { return i < next.size() && next[i].valid(); }
    void save(const Tensor& t, bool is_output = false);
    Tensor unpack(std::size_t i);
};

/// True if an operator on these inputs belongs on the tape (grad mode is on, one of them requires grad).
template <class... Ts>
bool needs_grad(const Ts&... inputs);

/// A node with one edge for each input.
Ref<Node> make_node(Session& session, const NodeType& type);
void add_edge(Node& node, const Tensor& input);
/// Labels what waits for the backward pass: stored, or recomputed if a recomputation made it. Weights, logits and the
/// like keep their own label.
void label_saved(const Tensor& t);
/// Nodes that are made and let go of at once: those after them have later numbers.
void count_nodes(Session& session, std::size_t count);

/// Makes `result` the node's next output.
void set_history(const Tensor& result, const Ref<Node>& node);

bool grad_enabled(const Session& session);

template <class... Ts>
bool needs_grad(const Ts&... inputs) {
    const Session* session = nullptr;
    bool any = false;
    ((inputs.defined() ? (session = &inputs.session(), any = any || inputs.requires_grad()) : false), ...);
    return any && grad_enabled(*session);
}

}  // namespace vramfit::engine
