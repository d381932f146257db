// accelerate 1.15 utils/fsdp_utils.py fsdp2_prepare_model, torch 2.11 distributed/fsdp/_fully_shard/_fsdp_state.py.
#include "model/fsdp2.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/fsdp2_parameters.hpp"
#include "model/load.hpp"
#include "model/load_entries.hpp"
#include "model/mixed_precision.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Of the last group that has one.
const Tensor* last_parameter(const Optimizer& optimizer) {
    for (auto group = optimizer.groups.rbegin(); group != optimizer.groups.rend(); ++group)
        if (!group->parameters.empty()) return group->parameters.back().tensor;
    return nullptr;
}

/// Accelerator._prepare_fsdp2: one element in the place of each parameter, until the optimizer has the shards.
std::vector<Tensor> stand_ins(const Optimizer& optimizer) {
    std::vector<Tensor> out;
    for (const ParameterGroup& group : optimizer.groups)
        for (const NamedParameter& p : group.parameters)
            out.push_back(empty(p.tensor->session(), {1}, p.tensor->dtype(), Op::empty));
    return out;
}

/// bitsandbytes 0.50 functional.py QuantState.as_dict, which state_dict calls: "un-shared to avoid restoring it".
std::vector<Tensor> codes_in_state_dict(Network& network) {
    std::vector<Tensor> out;
    for (const Linear* linear : linears(network))
        if (linear->quantized && linear->quantized->nested_code.defined())
            out.push_back(clone(linear->quantized->nested_code));
    return out;
}

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

/// _find_final_norm looks among the children of what `base_model_prefix` names. With adapters "model" is LoraModel's,
/// in which there is none; other prefixes lead through it to the network's own.
bool finds_final_norm(const Run& run, const Network& network) {
    return !run.plan.peft || !network.norm.name.starts_with("model.");
}

}  // namespace

Fsdp2::Fsdp2(const Run& run, Network& network, const Optimizer& optimizer)
    : run_(run),
      network_(network),
      comm_{run.session,
            run.plan.distributed->shard_size(),
            run.plan.distributed->rank % run.plan.distributed->shard_size(),
            {},
            std::get<Fsdp2Plan>(run.plan.distributed->method).cpu_offload,
            std::get<Fsdp2Plan>(run.plan.distributed->method).replicas > 1,
            true,
            {},
            {},
            {}},
      norm_in_tail_(finds_final_norm(run, network)) {
    comm_.compute_dtype = mixed_dtype(run.plan.training);
    const Fsdp2Plan& plan = std::get<Fsdp2Plan>(run.plan.distributed->method);
    if (plan.activation_checkpointing) network.checkpointing = Checkpointing::non_reentrant;  // fsdp2_apply_ac
    // "and not model_has_params4bit"
    if (comm_.compute_dtype && !run.plan.load.quantization) upcast(network);
    shard_all(optimizer);
    network.hooks = this;
    run.session.after_backward = [this] { finish_backward(); };
}

Fsdp2::~Fsdp2() {
    network_.hooks = nullptr;
    run_.session.after_backward = nullptr;
}

// What fully_shard moves to the device ends when it returns, but for what local variables hold until all is prepared:
// input_weight, output_weight and `param`, the network's last one, of fsdp2_prepare_model, and `p` of
// Accelerator._prepare_fsdp2, the optimizer's last one. A network that is there already (bitsandbytes' device map) is
// held whole by `original_sd` of fsdp2_prepare_model.
void Fsdp2::shard_all(const Optimizer& optimizer) {
    Session& session = run_.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
    const Fsdp2Plan& plan = std::get<Fsdp2Plan>(run_.plan.distributed->method);
    const Tensor* held[] = {&network_.embed.weight, &network_.head.weight, named_parameters(network_).back().tensor,
                            last_parameter(optimizer)};
    const bool moves = waits_on_host(run_);
    const bool loads_full = plan.cpu_ram_efficient_loading && !run_.plan.load.quantization;
    const std::vector<Tensor> of_optimizer = moves ? std::vector<Tensor>{} : stand_ins(optimizer);
    std::vector<Tensor> kept = codes_in_state_dict(network_);
    const bool shares = shares_weight(network_);
    std::map<const Tensor*, Tensor> sent;
    if (loads_full) sent = load_full_state(comm_, network_);
    const auto move = [&](const std::vector<ParameterPlaces>& parameters) {
        std::vector<Tensor> originals;
        if (loads_full) return originals;
        for (const ParameterPlaces& places : parameters) {
            if (!moves) {
                kept.push_back(*places[0]);
                continue;
            }
            originals.push_back(move_to_device(network_, places));
            for (const Tensor* place : places)
                if (std::find(std::begin(held), std::end(held), place) != std::end(held))
                    kept.push_back(originals.back());
        }
        return originals;
    };
    const auto group_of = [&](const std::vector<ParameterPlaces>& parameters, bool reshards) {
        std::vector<ShardedParameter> shards;
        for (const ParameterPlaces& places : parameters)
            shards.push_back({places, loads_full ? sent.at(places[0]) : make_shard(comm_, *places[0], Op::new_empty)});
        return std::make_unique<Fsdp2Group>(comm_, shards, reshards);
    };
    const auto move_scale = [&] {
        if (!moves || !embedding_scales_itself(run_) || network_.embed.scale.defined()) return;
        std::optional<OriginalModule>& original = network_.embed.original;
        for (Tensor* scale : {original ? &original->scale : nullptr, &network_.embed.scale})
            if (scale) *scale = empty(session, {}, run_.plan.load.dtype, Op::to_copy);
    };
    std::vector<ParameterPlaces> rest = parameters_of(network_.positions);  // the root's
    for (DecoderLayer& layer : network_.layers) {
        const auto parameters = parameters_of(layer);
        if (plan.wrap_policy != WrapPolicy::transformer_based) {
            rest.insert(rest.end(), parameters.begin(), parameters.end());
            continue;
        }
        const auto originals = move(parameters);
        layers_.push_back(group_of(parameters, plan.reshard_after_forward));
    }
    if (!shares) {
        const auto parameters = parameters_of(network_.embed);
        const auto originals = move(parameters);
        if (sent.empty()) move_scale();
        embedding_ = group_of(parameters, plan.reshard_after_forward);
    }
    {
        const auto parameters = tail_parameters(network_, norm_in_tail_);
        const auto originals = move(parameters);
        if (shares && sent.empty()) move_scale();
        tail_ = group_of(parameters, false);
    }
    if (!norm_in_tail_)
        for (const ParameterPlaces& places : norm_parameters(network_)) rest.push_back(places);
    const auto originals = move(rest);
    move_scale();
    for (int i = 0; moves && i < rotary_buffers(run_); ++i)
        network_.buffers.push_back(empty(session, {(run_.spec.rotary_dim() + 1) / 2}, DType::float32, Op::to_copy));
    if (!rest.empty()) root_ = group_of(rest, false);
}

void Fsdp2::before_forward(bool sync) {
    comm_.reduces = sync;
    if (root_) root_->pre_forward();
}

// all_gather_state is given up at the end, once outputs are cast, which live until all of them are.
void Fsdp2::after_forward(const Tensor& output, std::span<Tensor* const> outputs) {
    if (root_) {
        root_->post_forward();
        expect_backward(output, *root_);
    }
    const Tensor last = std::move(comm_.gathered);
    if (!comm_.compute_dtype) return;
    std::vector<Tensor> cast;
    for (const Tensor* t : outputs)
        cast.push_back(t->defined() && is_floating(t->dtype()) ? to(*t, *comm_.compute_dtype) : *t);
    for (std::size_t i = 0; i < cast.size(); ++i) *outputs[i] = cast[i];
}

Output Fsdp2::forward(const Batch& batch, const Tensor& items, const Place& place, bool sync) {
    before_forward(sync);
    Output output = causal_lm(run_, network_, batch, items, place);
    Tensor* const outputs[] = {&output.loss, &output.logits};
    const Tensor loss = output.loss.defined() ? output.loss : output.logits;
    after_forward(loss, outputs);
    return output;
}

// FSDPState._register_pre_backward_hook.
void Fsdp2::expect_backward(const Tensor& output, Fsdp2Group& group) {
    if (!run_.session.grad_enabled || !output.requires_grad()) return;
    Ref<Node> node = on_gradient(output, [&group] { group.pre_backward(); });
    if (output.is_leaf()) held_ = std::move(node);
}

// FSDPParamGroup._register_post_backward_hook.
Tensor Fsdp2::enter(Fsdp2Group& group, const Tensor& hidden) {
    if (group.is_in_backward()) return hidden;
    group.pre_forward();
    if (!needs_grad(hidden)) return hidden;
    const Ref<Node> node = make_node(run_.session, kPostBackward);
    node->state = std::make_unique<PostBackward>(group);
    add_edge(*node, hidden);
    held_.reset();
    Tensor out = detach(hidden);
    set_history(out, node);
    return out;
}

void Fsdp2::before_embedding() { (embedding_ ? embedding_ : tail_)->pre_forward(); }

void Fsdp2::after_embedding(const Tensor& embedded) {
    if (!embedding_) return;
    embedding_->post_forward();
    expect_backward(embedded, *embedding_);
}

Tensor Fsdp2::before_layer(std::size_t layer, const Tensor& hidden) {
    return layers_.empty() ? hidden : enter(*layers_[layer], hidden);
}

void Fsdp2::after_layer(std::size_t layer, const Tensor& hidden) {
    if (layers_.empty()) return;
    Fsdp2Group& group = *layers_[layer];
    if (group.is_in_backward()) return;
    group.post_forward();
    expect_backward(hidden, group);
}

// Of a group of modules, the first one's hook gathers and the last one's lets go.
Tensor Fsdp2::before_norm(const Tensor& hidden) { return embedding_ && norm_in_tail_ ? enter(*tail_, hidden) : hidden; }

Tensor Fsdp2::before_head(const Tensor& hidden) {
    return embedding_ && !norm_in_tail_ ? enter(*tail_, hidden) : hidden;
}

void Fsdp2::after_head(const Tensor& logits) {
    tail_->post_forward();
    expect_backward(logits, *tail_);
}

// A group of the head alone is gathered by its forward only: DTensor.full_tensor.
Tensor Fsdp2::head_weight(const Tensor& weight) {
    if (!embedding_ || norm_in_tail_) return weight;
    const Scoped<Category> fresh(run_.session.recorder.fresh, Category::weights);
    return empty(run_.session, {weight.size(0) * comm_.world, weight.size(1)}, weight.dtype(), Op::empty);
}

// _root_post_backward_final_callback: all groups in the order of modules.
void Fsdp2::finish_backward() {
    const GradMode no_grad(run_.session, false);
    if (root_) root_->finish_backward();
    (embedding_ ? embedding_ : tail_)->finish_backward();
    for (const auto& layer : layers_) layer->finish_backward();
    if (embedding_) tail_->finish_backward();
    comm_.post_forward_order.clear();
    comm_.reduce_input.reset();
}

}  // namespace vramfit::model
