// deepspeed 0.19.8 runtime/zero/parameter_offload.py DeepSpeedZeRoOffload._register_deepspeed_module.
#include "engine/backward.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/session.hpp"
#include "model/parallel/zero/linear.hpp"
#include "model/parallel/zero/stage3.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

struct AroundModule : NodeState {
    AroundModule(Zero3& of, std::size_t which) : zero(of), module(which) {}
    Zero3& zero;
    std::size_t module;
};

void pass_on(Grads& in, Grads& out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i];
}

void pre_backward(Node& node, Grads& in, Grads& out) {
    const auto& state = static_cast<const AroundModule&>(*node.state);
    state.zero.before_backward(state.module);
    pass_on(in, out);
}
constexpr NodeType kPreBackward{"PreBackwardFunctionForModuleBackward", pre_backward};

void post_backward_of_module(Node& node, Grads& in, Grads& out) {
    const auto& state = static_cast<const AroundModule&>(*node.state);
    state.zero.after_backward(state.module);
    pass_on(in, out);
}
constexpr NodeType kPostBackwardOfModule{"PostBackwardFunctionModuleBackward", post_backward_of_module};

Tensor wrapped(const Tensor& t, const NodeType& type, Zero3& zero, std::size_t module) {
    const Ref<Node> node = make_node(t.session(), type);
    node->state = std::make_unique<AroundModule>(zero, module);
    add_edge(*node, t);
    Tensor out = detach(t);
    set_history(out, node);
    return out;
}

}  // namespace

Tensor Zero3::before(const ModuleKey& key, const Tensor& input) {
    Tensor given = input;
    Tensor* const inputs[] = {&given};
    before_all(key, inputs);
    return given;
}

void Zero3::before_all(const ModuleKey& key, std::span<Tensor* const> inputs) {
    if (off_ && key == root_) coordinator_.reset_step();  // _start_of_forward_hook, which remove_hooks leaves
    if (inside_ || off_) return;
    if (key == root_ && !run_.session.recomputing) {
        if (ran_epilogue_) gradients_.next_micro_step();  // clear_backward_seen_flag
        ran_epilogue_ = false;
        if (!run_.stack.zero3_records_first_pass()) coordinator_.reset_step();
    }
    const std::size_t module = coordinator_.module_at(key);
    running_.push_back(module);
    coordinator_.fetch(module, true);
    if (remaining_.size() <= module) remaining_.resize(module + 1);
    remaining_[module] = 0;
    for (Tensor* const input : inputs) {
        if (!input->defined() || !needs_grad(*input)) continue;
        ++remaining_[module];
        *input = wrapped(*input, kPostBackwardOfModule, *this, module);
    }
    if (!leaves_.contains(module)) return;
    inside_ = module;
    *inputs[0] = hooked_input(*inputs[0], module);
}

void Zero3::after_all(const ModuleKey& key, std::span<Tensor* const> outputs) {
    if (off_) return;
    const std::size_t module = coordinator_.module_at(key);
    if (inside_ && *inside_ != module) return;
    running_.pop_back();
    coordinator_.release(module, true);
    for (Tensor* const output : outputs)
        if (output->defined() && needs_grad(*output)) *output = wrapped(*output, kPreBackward, *this, module);
    if (!inside_) return;
    inside_.reset();
    for (Tensor* const output : outputs) hook_output(*output);
}

void Zero3::read(const Tensor& parameter) { coordinator_.read(running_, parameter); }

// trl 1.16 models/utils.py _unwrap_model_for_generation: deepspeed.zero.GatheredParameters(model.parameters()) and
// remove_hooks.
void Zero3::take_off() {
    const Scoped<Category> fresh(run_.session.recorder.fresh, Category::weights);
    partitions_.gather(in_order_);
    for (const std::size_t id : in_order_) partitions_[id].used.clear();
    off_ = true;
}

// add_hooks, and the end of GatheredParameters.
void Zero3::put_back() {
    off_ = false;
    coordinator_.invalidate();
    for (const std::size_t id : in_order_) partitions_.partition(id);
}

void Zero3::after_backward(std::size_t module) {
    if (--remaining_[module] == 0) coordinator_.release(module, false);
}

Tensor Zero3::linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    if (run_.plan.distributed->load_first && !run_.stack.zero3_replaces_linear_after_load())
        return engine::linear(input, weight, bias);
    return linear_of_stage3(input, weight, bias);
}

}  // namespace vramfit::model
