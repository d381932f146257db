// accelerate 1.15 utils/fsdp_utils.py fsdp2_prepare_model, torch 2.11 distributed/fsdp/_fully_shard/_fsdp_state.py.
#include "model/parallel/fsdp2/fsdp2.hpp"

#include <utility>

#include "engine/ops/complex.hpp"
#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/network/in_module.hpp"
#include "model/parallel/fsdp2/hooks.hpp"
#include "model/parallel/fsdp2/parameters.hpp"
#include "model/parallel/fsdp2/sharding.hpp"
#include "spec/network/model.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Of a recorded network, whose buffers are known by their modules.
std::string_view path_of_layer(const Network& network, std::size_t layer) {
    return network.leaf_layers.empty() ? std::string_view() : network.leaf_layers[layer].path;
}

/// _find_final_norm looks among the children of what `base_model_prefix` names. With adapters "model" is LoraModel's,
/// in which there is none; other prefixes lead through it to the network's own.
bool is_found(const Run& run, std::string_view norm) {
    return !norm.empty() && !(run.plan.peft && norm.starts_with("model."));
}

Norm* norm_in_tail(const Run& run, Network& network) {
    Norm* const norm = final_norm(network);
    return norm && is_found(run, norm->name) ? norm : nullptr;
}

/// The same of a norm without parameters.
bool has_norm_in_tail(const Run& run, const Norm* norm) {
    return run.spec.recording ? is_found(run, network::final_norm(*run.spec.recording)) : norm != nullptr;
}

/// accelerate 1.15 utils/fsdp_utils.py fsdp2_apply_ac wraps layers. axolotl 0.18 asks for accelerate 1.13, which wraps
/// what layers are made of, and wraps layers itself around that.
void checkpoint_layers(Network& network, const Fsdp2Plan& plan) {
    network.checkpointing = Checkpointing::non_reentrant;
    for (DecoderLayer& layer : network.layers) layer.checkpoints_parts = plan.prepared_by == FsdpPreparation::axolotl;
}

std::int64_t loading_rank(const DistributedPlan& plan) {
    return plan.loads_as_last() ? plan.shard_size() - 1 : plan.rank % plan.shard_size();
}

/// A recorded class may name no modules that are kept whole: none is a unit.
bool wraps_layers(const ModelSpec& model, const Fsdp2Plan& plan) {
    const bool names = !model.recording || !network::unit_classes(*model.recording, plan.layer_classes).empty();
    return plan.wrap_policy == WrapPolicy::transformer_based && names;
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
            loading_rank(*run.plan.distributed),
            run.plan.distributed->rank == 0 && !run.plan.distributed->loads_as_last(),
            {},
            {},
            {}},
      adapters_(comm_),
      norm_in_tail_(norm_in_tail(run, network)),
      enters_at_norm_(has_norm_in_tail(run, norm_in_tail_)) {
    comm_.compute_dtype = mixed_dtype(run.plan.training);
    const Fsdp2Plan& plan = std::get<Fsdp2Plan>(run.plan.distributed->method);
    if (plan.activation_checkpointing) checkpoint_layers(network, plan);
    // "and not model_has_params4bit"
    if (comm_.compute_dtype && plan.prepared_by == FsdpPreparation::accelerate && !run.plan.load.quantization)
        upcast(network);
    comm_.has_adapters = run.plan.peft.has_value();
    for (const NamedParameter& p : named_states(network))
        comm_.modules[p.tensor] = module_named(run.session.recorder, p.module);
    shard_all(optimizer);
    network.hooks = this;
    if (!adapters_.empty()) run.session.module_hooks = &adapters_;
    run.session.after_backward = [this] { finish_backward(); };
}

Fsdp2::~Fsdp2() {
    network_.hooks = nullptr;
    if (!adapters_.empty()) run_.session.module_hooks = nullptr;
    run_.session.after_backward = nullptr;
}

void Fsdp2::shard_all(const Optimizer& optimizer) {
    const Scoped<Category> fresh(run_.session.recorder.fresh, Category::weights);
    const Fsdp2Plan& plan = std::get<Fsdp2Plan>(run_.plan.distributed->method);
    if (plan.prepared_by == FsdpPreparation::axolotl) return shard_as_axolotl(optimizer);
    // input_weight, output_weight and `param`, the network's last one.
    const std::vector<const Tensor*> held = {&network_.embed.weight, &network_.head.weight,
                                             named_parameters(network_).back().tensor};
    Fsdp2Sharding sharding(run_, network_, comm_, optimizer, held);
    if (plan.cpu_ram_efficient_loading && !run_.plan.load.quantization)
        sharding.take_rows(load_full_state(comm_, network_));
    const bool shares = shares_weight(network_);
    const bool wraps = wraps_layers(run_.spec, plan);
    for (std::size_t layer = 0; wraps && layer < layer_count(network_); ++layer)
        layers_.push_back(sharding.group(parameters_of_layer(network_, layer), plan.reshard_after_forward,
                                         path_of_layer(network_, layer)));
    const auto rest = root_parameters(network_, norm_in_tail_, !wraps);
    if (!shares) embedding_ = sharding.group_with_scale(parameters_of(network_.embed), plan.reshard_after_forward);
    const auto tail = tail_parameters(network_, norm_in_tail_);
    tail_ = shares ? sharding.group_with_scale(tail, false) : sharding.group(tail, false);
    root_ = sharding.root(rest, false);
}

// axolotl 0.18 monkeypatch/accelerate/fsdp2.py fsdp2_prepare_model: adapters are groups of their own, and what is
// around the layers is the root's.
void Fsdp2::shard_as_axolotl(const Optimizer& optimizer) {
    const Fsdp2Plan& plan = std::get<Fsdp2Plan>(run_.plan.distributed->method);
    Fsdp2Sharding sharding(run_, network_, comm_, optimizer, {named_parameters(network_).back().tensor});
    if (plan.cpu_ram_efficient_loading && !run_.plan.load.quantization)
        sharding.take_rows(load_full_state_as_axolotl(comm_, network_));
    for (std::size_t layer = 0; layer < layer_count(network_); ++layer) {
        adapters_.shard(network_, layer, sharding, plan.reshard_after_forward);
        layers_.push_back(sharding.group(parameters_around_adapters(network_, layer), plan.reshard_after_forward,
                                         path_of_layer(network_, layer)));
    }
    root_ = sharding.root(outer_parameters(network_), plan.reshard_after_forward);
}

void Fsdp2::before_forward(bool sync) {
    comm_.reduces = sync;
    in_tail_ = false;
    if (root_) root_->pre_forward();
}

// all_gather_state is given up at the end, once outputs are cast, which live until all of them are.
void Fsdp2::after_forward(const Tensor& output, std::span<Tensor* const> outputs) {
    if (root_) {
        root_->post_forward();
        expect(output, *root_);
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

void Fsdp2::expect(const Tensor& output, Fsdp2Group& group) {
    Ref<Node> node = expect_backward(group, output);
    if (output.is_leaf()) held_ = std::move(node);
}

// FSDPState._pre_forward: cast_forward_inputs, which a recomputation in the backward pass does not come to. Complex
// numbers are none of torch.is_floating_point.
Tensor Fsdp2::cast(const Tensor& given) {
    const bool casts = !run_.session.recomputing && comm_.compute_dtype && given.defined();
    return casts && is_floating(given.dtype()) && given.dtype() != kComplex ? to(given, *comm_.compute_dtype) : given;
}

Tensor Fsdp2::enter(Fsdp2Group& group, const Tensor& hidden) {
    const Tensor out = enter_group(group, cast(hidden));
    if (!(out == hidden)) held_.reset();
    return out;
}

// accelerate 1.15 utils/fsdp_utils.py fsdp2_prepare_auto_wrap_policy looks through what checkpoints a layer: hooks are
// around both.
bool Fsdp2::around_checkpoints() const {
    const Fsdp2Plan& plan = *run_.plan.distributed->as<Fsdp2Plan>();
    return plan.activation_checkpointing && plan.prepared_by == FsdpPreparation::accelerate;
}

void Fsdp2::before_embedding() {
    if (Fsdp2Group* const group = of_embedding()) group->pre_forward();
}

void Fsdp2::after_embedding(const Tensor& embedded) {
    if (!embedding_) return;
    embedding_->post_forward();
    expect(embedded, *embedding_);
}

// Layers that stay gathered gather no more.
Tensor* Fsdp2::held() {
    return run_.plan.distributed->as<Fsdp2Plan>()->reshard_after_forward ? &comm_.gathered : nullptr;
}

Tensor Fsdp2::before_layer(std::size_t layer, const Tensor& hidden) {
    return layers_.empty() ? hidden : enter(*layers_[layer], hidden);
}

void Fsdp2::after_layer(std::size_t layer, const Tensor& hidden) {
    if (layers_.empty()) return;
    Ref<Node> node = leave_group(*layers_[layer], hidden);
    if (hidden.is_leaf()) held_ = std::move(node);
}

// Of a group of modules, the first one's hook gathers and the last one's lets go.
// torch 2.11 fsdp/_fully_shard/_fsdp_state.py _register_group_forward_hooks: the group is entered
// once, with the first of its modules (NanoChat's norm is called before the layers, too).
Tensor Fsdp2::before_norm(const Tensor& hidden) {
    if (!embedding_ || !enters_at_norm_ || std::exchange(in_tail_, true)) return hidden;
    return enter(*tail_, hidden);
}

Tensor Fsdp2::before_head(const Tensor& hidden) {
    return embedding_ && !enters_at_norm_ ? enter(*tail_, hidden) : hidden;
}

void Fsdp2::after_head(const Tensor& logits) {
    if (!tail_) return;
    tail_->post_forward();
    expect(logits, *tail_);
}

// A group of the head alone is gathered by its forward only: DTensor.full_tensor (torch 2.11 distributed/tensor
// placement_types.py Shard._to_replicate_tensor), which pads a copy of a shard with fewer rows.
Tensor Fsdp2::head_weight(const Tensor& weight) {
    if (!embedding_ || enters_at_norm_ || tail_->is_unsharded()) return weight;  // generation may leave it whole
    const Scoped<Category> fresh(run_.session.recorder.fresh, Category::weights);
    const InModule module(run_.session, network_.head.name);
    const std::int64_t most = ceil_div(run_.spec.vocab_size, comm_.world);
    Dims sizes = weight.sizes();
    sizes[0] = most;
    Tensor padded;
    if (!same(weight.size(0), most)) padded = empty(run_.session, sizes, weight.dtype(), Op::constant_pad_nd);
    sizes[0] = most * comm_.world;
    const Tensor gathered = empty(run_.session, sizes, weight.dtype(), Op::empty);
    sizes[0] = run_.spec.vocab_size;
    return alias(gathered, sizes, gathered.strides());
}

// _root_post_backward_final_callback: all groups in the order of modules.
void Fsdp2::finish_backward() {
    const GradMode no_grad(run_.session, false);
    if (root_) root_->finish_backward();
    if (Fsdp2Group* const group = of_embedding()) group->finish_backward();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        layers_[i]->finish_backward();
        adapters_.finish_backward(network_, i);
    }
    if (embedding_) tail_->finish_backward();
    comm_.post_forward_order.clear();
    comm_.reduce_input.reset();
}

}  // namespace vramfit::model
