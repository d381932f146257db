// Mixtures of experts under ZeRO-3: modules that are gathered with all that is in them.
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/network/called.hpp"
#include "model/parallel/zero/stage3.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

// deepspeed 0.19.8 runtime/zero/leaf_module_config.py DEFAULT_LEAF_MODULE_CLASSES.
bool Zero3::has_leaves() const {
    const std::string& type = run_.spec.model_type;
    return !run_.recorded && (type == "mixtral" || type == "qwen2_moe" || type == "qwen3_moe");
}

// A block of a leaf has all parameters inside; elsewhere routers, experts and attentions have their own.
void Zero3::list_mixtures() {
    if (run_.recorded) return list_recorded();
    for (DecoderLayer& layer : network_.layers) {
        const auto own = [&](const ModuleKey& key, const BareModule& module) {
            std::vector<std::size_t> ids;
            for (const Tensor& t : module.tensors) ids.push_back(*partitions_.find(t));
            coordinator_.set_parameters(key, std::move(ids));
        };
        own(key_of(&layer, Part::attention), layer.attention_parameters);
        if (layer.experts.tensors.empty()) continue;
        own(key_of(&layer.router, Part::itself), layer.router);
        own(key_of(&layer.experts, Part::itself), layer.experts);
        if (!has_leaves()) continue;
        std::vector<std::size_t> ids;
        const auto add = [&](const Tensor& t) {
            if (t.defined()) ids.push_back(*partitions_.find(t));
        };
        for (const BareModule* module : {&layer.router, &layer.experts}) {
            for (const Tensor& t : module->tensors) add(t);
            for (const auto& adapter : module->lora) {
                if (!adapter) continue;
                add(adapter->a);
                add(adapter->b);
            }
        }
        for (const Linear* l : {&layer.shared_gate, &layer.shared_up, &layer.shared_down, &layer.shared_expert_gate}) {
            add(l->weight);
            add(l->bias);
            if (!l->lora) continue;
            for (const Tensor* t : {&l->lora->a, &l->lora->b, &l->lora->bias, &l->lora->magnitude}) add(*t);
        }
        const std::size_t leaf = coordinator_.module_at(key_of(&layer, Part::mlp));
        leaves_[leaf] = {};
        for (const std::size_t id : ids) leaf_of_[id] = leaf;
        coordinator_.set_leaf(leaf);
        coordinator_.set_parameters(key_of(&layer, Part::mlp), std::move(ids));
    }
    if (has_leaves()) list_insides();
}

/// Tables beside the input's, and modules with parameters of their own.
void Zero3::list_recorded() {
    for (const Embedding* table : embeddings(network_)) {
        if (table == &network_.embed) continue;
        if (table->lora || table->original)
            throw Error(ErrorKind::unsupported, table->name,
                        "an adapter of this table was not compared with recorded networks under ZeRO-3 yet",
                        "leave it out, or ZeRO-2");
        coordinator_.set_parameters(key_of(table, Part::itself), {*partitions_.find(table->weight)});
    }
    for (const BareModule* module : bare_modules(network_)) {
        std::vector<std::size_t> ids;
        for (const Tensor& t : module->tensors) ids.push_back(*partitions_.find(t));
        coordinator_.set_parameters(key_of(module, Part::itself), std::move(ids));
    }
}

// iter_params with recurse: what is in the modules around leaves.
void Zero3::list_insides() {
    std::vector<std::size_t> all;
    const auto inside = [&](const void* place, Part part, const std::vector<std::size_t>& ids) {
        coordinator_.set_inside(coordinator_.module_at(key_of(place, part)), ids);
    };
    const auto of = [&](const Tensor& t) { return *partitions_.find(t); };
    const auto of_linear = [&](Linear& l) {
        std::vector<std::size_t> ids;
        for (const Tensor* t : {&l.weight, &l.bias})
            if (t->defined()) ids.push_back(of(*t));
        if (!l.lora) return ids;
        for (const Tensor* t : {&l.lora->a, &l.lora->b, &l.lora->bias, &l.lora->magnitude})
            if (t->defined()) ids.push_back(of(*t));
        inside(&l, Part::itself, ids);
        return ids;
    };
    for (const NamedParameter& p : named_states(network_)) all.push_back(of(*p.tensor));
    for (DecoderLayer& layer : network_.layers) {
        std::vector<std::size_t> whole = coordinator_.parameters(key_of(&layer, Part::mlp)), attention;
        for (Linear* l : {&layer.q, &layer.k, &layer.v, &layer.qkv, &layer.o})
            for (const std::size_t id : of_linear(*l)) attention.push_back(id);
        for (const Norm* norm : {&layer.q_norm, &layer.k_norm, &layer.input_norm, &layer.post_attention_norm}) {
            const bool is_outer = norm == &layer.input_norm || norm == &layer.post_attention_norm;
            for (const Tensor* t : {&norm->weight, &norm->bias})
                if (t->defined()) (is_outer ? whole : attention).push_back(of(*t));
        }
        inside(&layer, Part::attention, attention);
        whole.insert(whole.end(), attention.begin(), attention.end());
        inside(&layer, Part::itself, whole);
    }
    std::vector<std::size_t> head = of_linear(network_.head);
    for (const Part part : {Part::whole, Part::tuner, Part::adapted}) inside(&network_, part, all);
    if (!network_.tied)
        std::erase_if(all, [&](std::size_t id) { return std::find(head.begin(), head.end(), id) != head.end(); });
    inside(&network_, Part::decoder, all);
}

namespace {

struct LeafHook : NodeState {
    LeafHook(Zero3* of, std::size_t which, std::shared_ptr<Tensor> gradient)
        : zero(of), leaf(which), of_output(std::move(gradient)) {}
    Zero3* zero;
    std::size_t leaf;
    std::shared_ptr<Tensor> of_output;
};

void leaf_output_backward(Node& node, Grads& in, Grads& out) {
    *static_cast<LeafHook&>(*node.state).of_output = in[0];
    out[0] = in[0];
}
constexpr NodeType kLeafOutput{"BackwardHookFunctionBackward", leaf_output_backward};

void leaf_input_backward(Node& node, Grads& in, Grads& out) {
    out[0] = in[0];
    const auto& state = static_cast<LeafHook&>(*node.state);
    state.zero->reduce_leaf(state.leaf);
    state.of_output->reset();
}
constexpr NodeType kLeafInput{"BackwardHookFunctionBackward", leaf_input_backward};

Tensor through_leaf_hook(const Tensor& t, const NodeType& type, Zero3* zero, std::size_t leaf,
                         const std::shared_ptr<Tensor>& gradient) {
    if (!needs_grad(t)) return t;
    const Ref<Node> node = make_node(t.session(), type);
    node->state = std::make_unique<LeafHook>(zero, leaf, gradient);
    add_edge(*node, t);
    Tensor out = detach(t);
    set_history(out, node);
    return out;
}

}  // namespace

// stage3.py create_reduce_and_remove_grad_hooks: a leaf with trained parameters has a full backward hook (torch 2.11
// utils/hooks.py BackwardHook).
Tensor Zero3::hooked_input(const Tensor& input, std::size_t leaf) {
    leaf_gradient_.reset();
    if (leaves_[leaf].empty()) return input;
    leaf_gradient_ = std::make_shared<Tensor>();
    return through_leaf_hook(input, kLeafInput, this, leaf, leaf_gradient_);
}

void Zero3::hook_output(Tensor& output) {
    if (leaf_gradient_) output = through_leaf_hook(output, kLeafOutput, nullptr, 0, leaf_gradient_);
}

void Zero3::reduce_leaf(std::size_t module) {
    ran_epilogue_ = true;
    const GradMode no_grad(run_.session, false);
    for (const std::size_t id : leaves_[module]) {
        const Tensor& t = partitions_[id].tensor;
        if (!t.grad().defined()) {
            const Tensor zero = zeros_like(t);
            t->grad = zero.ref();
        }
        gradients_.on_gradient(id);
    }
}

}  // namespace vramfit::model
