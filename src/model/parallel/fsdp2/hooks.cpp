// torch 2.11 distributed/fsdp/_fully_shard: _fsdp_state.py, _fsdp_param_group.py.
#include "model/parallel/fsdp2/hooks.hpp"

#include <memory>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// RegisterPostBackwardFunction.
struct PostBackward : NodeState {
    explicit PostBackward(Fsdp2Group& of) : group(of) {}
    Fsdp2Group& group;
};

void post_backward(Node& node, Grads& in, Grads& out) {
    static_cast<PostBackward&>(*node.state).group.post_backward();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i];
}
constexpr NodeType kPostBackward{"RegisterPostBackwardFunctionBackward", post_backward};

}  // namespace

// FSDPParamGroup._register_post_backward_hook.
Tensor enter_group(Fsdp2Group& group, const Tensor& input) {
    if (group.is_in_backward()) return input;
    Fsdp2Comm& comm = group.comm();
    if (comm.session.recomputing && !comm.recomputing) comm.recomputing = &group;
    group.pre_forward();
    if (!needs_grad(input)) return input;
    const Ref<Node> node = make_node(comm.session, kPostBackward);
    node->state = std::make_unique<PostBackward>(group);
    add_edge(*node, input);
    Tensor out = detach(input);
    set_history(out, node);
    return out;
}

Ref<Node> leave_group(Fsdp2Group& group, const Tensor& output) {
    if (group.is_in_backward()) return {};
    group.post_forward();
    Ref<Node> node = expect_backward(group, output);
    Fsdp2Comm& comm = group.comm();
    if (comm.recomputing != &group) return node;
    comm.gathered.reset();  // "Free the last all-gather result if needed"
    comm.recomputing = nullptr;
    return node;
}

Ref<Node> expect_backward(Fsdp2Group& group, const Tensor& output) {
    if (!group.comm().session.grad_enabled || !output.requires_grad()) return {};
    return on_gradient(output, [&group] { group.pre_backward(); });
}

}  // namespace vramfit::model
