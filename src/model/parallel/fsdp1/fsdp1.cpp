// accelerate 1.15 accelerator.py prepare_model, torch 2.11 distributed/fsdp: fully_sharded_data_parallel.py,
// _init_utils.py, _runtime_utils.py; peft 0.21.2 utils/other.py fsdp_auto_wrap_policy.
#include "model/parallel/fsdp1/fsdp1.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/session.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/layers/family.hpp"
#include "model/loading/load.hpp"
#include "model/loading/load_entries.hpp"
#include "model/network/called.hpp"
#include "model/parallel/collectives.hpp"
#include "model/parallel/fsdp1/unit_parameters.hpp"
#include "model/parallel/fsdp2/parameters.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/size_units.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::int64_t kSyncBytes = 250 << 20;  // _init_utils.py PARAM_BROADCAST_BUCKET_SIZE

const Fsdp1Plan& fsdp1_plan_of(const Run& run) { return std::get<Fsdp1Plan>(run.plan.distributed->method); }

/// _init_core_state: what is cut over one process is not cut.
Fsdp1Plan effective_plan(const Run& run) {
    Fsdp1Plan plan = fsdp1_plan_of(run);
    if (run.plan.distributed->shard_size() == 1) plan.sharding_strategy = FsdpStrategy::no_shard;
    return plan;
}

/// MixedPrecision's dtypes. transformers 5.17 distributed/fsdp.py update_fsdp_plugin_peft: over packed weights theirs,
/// whatever bf16 and fp16 say.
std::optional<DType> compute_dtype(const TrainPlan& plan) {
    if (plan.peft && plan.load.quantization) return plan.load.quantization->storage;
    return mixed_dtype(plan.training);
}

/// peft 0.21 bnb.py Linear4bit.forward: without autocast inputs take the dtype of the adapter's part, while its
/// gathered weight has another.
void refuse_cast_adapters(const std::vector<Fsdp1Unit*>& units, DType gathered) {
    for (const Fsdp1Unit* unit : units)
        if (unit->has_parameters() && unit->flat().requires_grad() && unit->flat().dtype() != gathered)
            throw Error(
                ErrorKind::invalid, "training.bf16",
                fmt::format("torch stops: FSDP1 gathers {} adapters in {}, the packed weights' dtype, without autocast "
                            "(expected mat1 and mat2 to have the same dtype)",
                            name_of(unit->flat().dtype()), name_of(gathered)),
                "--mixed-precision bf16 (training.bf16)");
}

}  // namespace

Fsdp1::Fsdp1(const Run& run, Network& network)
    : run_(run),
      network_(network),
      shared_{run.session,
              run.plan.distributed->shard_size(),
              run.plan.distributed->rank % run.plan.distributed->shard_size(),
              {},
              effective_plan(run),
              true,
              {},
              {},
              {},
              true} {
    if (run.spec.recording) all_buffers_ = network::buffers_in(*run.spec.recording);
    const Fsdp1Plan& plan = fsdp1_plan_of(run);
    shared_.compute_dtype = compute_dtype(run.plan);
    Session& session = run.session;
    {
        const GradMode no_grad(session, false);
        const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
        wrap_all();
        if (mixed_dtype(run.plan.training))
            for (Fsdp1Unit* unit : all_) unit->upcast();
        else if (shared_.compute_dtype)
            refuse_cast_adapters(all_, *shared_.compute_dtype);
    }
    if (plan.activation_checkpointing) network.checkpointing = Checkpointing::non_reentrant;
    network.hooks = this;
    if (!single_.empty()) session.module_hooks = this;
    session.after_accumulate = [this](const Tensor& leaf) {
        for (Fsdp1Unit* unit : all_)
            if (unit->flat() == leaf) unit->post_backward();
    };
    session.after_backward = [this] { finish_backward(); };
}

Fsdp1::~Fsdp1() {
    network_.hooks = nullptr;
    run_.session.module_hooks = nullptr;
    run_.session.after_accumulate = nullptr;
    run_.session.after_backward = nullptr;
}

// _init_param_handle_from_module: _move_module_to_device, _sync_module_params_and_buffers, then the flat parameter.
std::unique_ptr<Fsdp1Unit> Fsdp1::wrap(const std::vector<ParameterPlaces>& parameters,
                                       const std::vector<ParameterPlaces>& to_move, const Buffers& buffers,
                                       bool is_root) {
    Session& session = run_.session;
    const bool moves = waits_on_host(run_);
    for (const ParameterPlaces& places : to_move) {
        if (!moves || !is_on_host(*places[0])) continue;  // it is there
        set_data(*places[0], to_device(*places[0]));
        session.streams.host_waits(0);  // for a copy out of pageable memory
    }
    if (moves) move_buffers(buffers);
    std::vector<Tensor> states;
    if (buffers.layer && !run_.spec.recording) states = layer_buffers(*buffers.layer);
    for (Tensor* buffer : recorded_buffers(buffers)) states.push_back(*buffer);
    if (buffers.scale && buffers.scale->defined()) states.push_back(*buffers.scale);
    if (buffers.rotary && !run_.spec.recording)
        states.insert(states.end(), network_.buffers.begin(), network_.buffers.end());
    if (fsdp1_plan_of(run_).sync_module_states) {
        for (const ParameterPlaces& places : parameters) states.push_back(*places[0]);
        broadcast_coalesced(session, states, kSyncBytes);
        if (is_hybrid(shared_.plan.sharding_strategy))
            broadcast_coalesced(session, states, kSyncBytes);  // of all nodes
    }
    return std::make_unique<Fsdp1Unit>(shared_, parameters, is_root);
}

void Fsdp1::move_buffers(const Buffers& buffers) {
    Session& session = run_.session;
    if (run_.spec.recording) {
        for (Tensor* buffer : recorded_buffers(buffers))
            *buffer = recorded_buffer(run_, all_buffers_[static_cast<std::size_t>(buffer - network_.buffers.data())],
                                      Op::to_copy);
        return;
    }
    if (buffers.layer) move_layer_buffers(run_, network_, std::nullopt);
    if (buffers.scale && embedding_scales_itself(run_))
        *buffers.scale = empty(session, {}, run_.plan.load.dtype, Op::to_copy);
    if (!buffers.rotary || !family_of(run_.spec.model_type).rotary_modules(run_.stack).decoder) return;
    for (int i = 0; i < rotary_buffers(run_); ++i)
        network_.buffers.push_back(empty(session, {(run_.spec.rotary_dim() + 1) / 2}, DType::float32, Op::to_copy));
}

/// Those of a layer, or of what no layer has.
std::vector<Tensor*> Fsdp1::recorded_buffers(const Buffers& buffers) const {
    std::vector<Tensor*> out;
    if (!run_.spec.recording || (!buffers.layer && !buffers.others)) return out;
    const bool wraps = wrap_policy() == WrapPolicy::transformer_based;
    for (std::size_t i = 0; i < all_buffers_.size(); ++i) {
        std::optional<std::size_t> layer;
        for (std::size_t l = 0; wraps && l < layer_count(network_); ++l)
            if (is_inside(all_buffers_[i].name, path_of_layer(l))) layer = l;
        if (layer == buffers.layer) out.push_back(&network_.buffers[i]);
    }
    return out;
}

// fsdp_auto_wrap_policy: a module without children whose weight is trained is a unit.
void Fsdp1::wrap_alone(const void* module, Part part, std::initializer_list<Tensor*> tensors) {
    std::vector<ParameterPlaces> parameters;
    for (Tensor* t : tensors)
        if (t->defined()) parameters.push_back({t});
    // The scale of an embedding that is trained as a whole stands in its own unit, the original's in the root.
    const bool is_embedding = module == &network_.embed && part == Part::saved;
    auto unit = wrap(parameters, parameters, {.scale = is_embedding ? &network_.embed.scale : nullptr}, false);
    all_.push_back(unit.get());
    single_.emplace(key_of(module, part), std::move(unit));
}

void Fsdp1::add_norm(Norm& module, int depth, UnitParameters& parameters) {
    if (module.original) {
        parameters.add(depth + 1, module.original->weight);
        parameters.add(depth + 1, module.original->bias);
        return wrap_alone(&module, Part::saved, {&module.weight, &module.bias});
    }
    parameters.add(depth, module.weight);
    parameters.add(depth, module.bias);
}

void Fsdp1::add_linear(Linear& module, int depth, UnitParameters& parameters) {
    if (module.original) {
        parameters.add(depth + 1, module.original->weight);
        parameters.add(depth + 1, module.original->bias);
        return wrap_alone(&module, Part::saved, {&module.weight, &module.bias});
    }
    if (module.lora) ++depth;
    parameters.add(depth, module.quantized ? module.quantized->packed : module.weight);
    parameters.add(depth, module.bias);
    if (!module.lora) return;
    wrap_alone(&module, Part::lora_a, {&module.lora->a});
    wrap_alone(&module, Part::lora_b, {&module.lora->b, &module.lora->bias});
    if (module.lora->magnitude.defined()) wrap_alone(&module, Part::magnitude, {&module.lora->magnitude});
}

void Fsdp1::add_embedding(Embedding& module, int depth, UnitParameters& parameters) {
    if (module.original) {
        parameters.add(depth + 1, module.original->weight);
        return wrap_alone(&module, Part::saved, {&module.weight});
    }
    if (module.lora) ++depth;
    parameters.add(depth, module.weight);
    if (!module.lora) return;
    for (Tensor* t : {&module.lora->a, &module.lora->b}) parameters.add(depth, *t);  // in dictionaries, not modules
    if (module.lora->magnitude.defined()) wrap_alone(&module, Part::magnitude, {&module.lora->magnitude});
}

void Fsdp1::add_bare(BareModule& module, int depth, UnitParameters& parameters) {
    for (Tensor& t : module.tensors) parameters.add(depth, t);
}

/// How deep a module lies below the unit.
template <class Module>
void Fsdp1::add_module(Module& module, std::string_view of, UnitParameters& parameters) {
    const int depth = depth_of(module.name) - depth_of(of);
    if constexpr (std::is_same_v<Module, Linear>) add_linear(module, depth, parameters);
    if constexpr (std::is_same_v<Module, Norm>) add_norm(module, depth, parameters);
    if constexpr (std::is_same_v<Module, Embedding>) add_embedding(module, depth, parameters);
    if constexpr (std::is_same_v<Module, BareModule>) add_bare(module, depth, parameters);
}

void Fsdp1::add_layer(std::size_t layer, std::string_view of, UnitParameters& parameters) {
    for_each_module_of_layer(network_, layer, [&](auto& module) { add_module(module, of, parameters); });
}

/// "model.layers.3", of which every layer has a norm.
std::string Fsdp1::path_of_layer(std::size_t layer) const {
    if (!network_.leaf_layers.empty()) return network_.leaf_layers[layer].path;
    const std::string& name = network_.layers[layer].input_norm.name;
    return name.substr(0, name.rfind('.'));
}

// _auto_wrap goes through the modules from the leaves up.
void Fsdp1::wrap_layer(std::size_t layer) {
    const std::size_t place = all_.size();
    all_.push_back(nullptr);
    UnitParameters parameters;
    add_layer(layer, path_of_layer(layer), parameters);
    layers_.push_back(wrap(parameters.all(), parameters.to_move(), {.layer = layer}, false));
    all_[place] = layers_.back().get();
}

// transformers 5.17 distributed/fsdp.py update_fsdp_plugin_peft: with adapters the policy is peft's, which wraps
// layers.
WrapPolicy Fsdp1::wrap_policy() const {
    return run_.plan.peft ? WrapPolicy::transformer_based : fsdp1_plan_of(run_).wrap_policy;
}

Tensor& Fsdp1::scale() { return network_.embed.original ? network_.embed.original->scale : network_.embed.scale; }

void Fsdp1::wrap_all() {
    if (wrap_policy() == WrapPolicy::size_based) return wrap_by_size();
    // In the order of the modules: what is before the layers, they, and what is behind.
    const bool wraps = wrap_policy() == WrapPolicy::transformer_based;
    UnitParameters parameters;
    const auto add = [&](auto& module) { add_module(module, {}, parameters); };
    for_each_part(network_, add, [&](std::size_t layer) {
        if (wraps)
            wrap_layer(layer);
        else
            add_layer(layer, {}, parameters);
    });
    set_root(parameters, {.scale = &scale(), .rotary = true, .others = true});
}

void Fsdp1::set_root(const UnitParameters& parameters, const Buffers& buffers) {
    root_ = wrap(parameters.all(), parameters.to_move(), buffers, true);
    root_->on_first_backward = [this] { forget_gradients(); };
    all_.insert(all_.begin(), root_.get());
}

// A layer that checkpoints itself (GradientCheckpointingLayer) has its unit around that; before, the network
// checkpoints what stands in its list of layers, which is the unit. accelerate's own wrapper is inside of the unit.
bool Fsdp1::around_checkpoints() const {
    return shared_.plan.activation_checkpointing || !run_.stack.layers_take_positional_arguments();
}

/// Of its rotary embedding.
std::vector<Tensor> Fsdp1::layer_buffers(std::size_t index) const {
    std::vector<Tensor> out;
    if (index < network_.layer_buffers.size()) out.push_back(network_.layer_buffers[index]);
    for (std::size_t table = 2 * index; table < 2 * index + 2; ++table)
        if (table < network_.rotary_caches.size()) out.push_back(network_.rotary_caches[table]);
    return out;
}

// _lazy_init: buffers are cast, those of the last unit first, then _share_state_and_init_handle_attrs.
void Fsdp1::initialise() {
    is_initialised_ = true;
    if (shared_.compute_dtype) {
        std::vector<Tensor> buffers;
        for (std::size_t layer = layer_count(network_); layer-- > 0;) {
            if (!run_.spec.recording)
                for (const Tensor& buffer : layer_buffers(layer)) buffers.push_back(buffer);
            for (const Tensor* buffer : recorded_buffers({.layer = layer})) buffers.push_back(*buffer);
        }
        if (network_.embed.scale.defined()) buffers.push_back(network_.embed.scale);
        if (network_.embed.original && network_.embed.original->scale.defined())
            buffers.push_back(network_.embed.original->scale);
        if (!run_.spec.recording) buffers.insert(buffers.end(), network_.buffers.begin(), network_.buffers.end());
        for (const Tensor* buffer : recorded_buffers({.others = true})) buffers.push_back(*buffer);
        for (Tensor& buffer : buffers)
            if (is_floating(buffer.dtype())) set_data(buffer, to(buffer, *shared_.compute_dtype));
    }
    for (Fsdp1Unit* unit : all_) unit->make_buffers();
}

void Fsdp1::before_forward(bool sync) {
    Session& session = run_.session;
    shared_.reduces = sync;
    if (!is_initialised_) initialise();
    session.streams.wait(Fsdp1Streams::kUnshard, 0);  // _wait_for_computation_stream
    session.streams.wait(Fsdp1Streams::kPreUnshard, 0);
    for (Fsdp1Unit* unit : all_) unit->begin_forward();
    forget_gradients();
    root_->pre_forward();
}

void Fsdp1::after_forward(const Tensor& output) {
    root_->post_forward();
    root_->expect_backward(output);
}

Output Fsdp1::forward(const Batch& batch, const Tensor& items, const Place& place, bool sync) {
    before_forward(sync);
    Output output = prepared_forward(run_, network_, batch, items, place);
    after_forward(output.loss.defined() ? output.loss : output.logits);
    return output;
}

// get_decay_parameter_names: a flat parameter's name ends with _flat_param, no part of which stands for a norm or bias.
std::vector<ParameterGroup> Fsdp1::flat_groups() {
    ParameterGroup decay{{}, true}, no_decay{{}, false};
    for (Fsdp1Unit* unit : all_)
        if (unit->flat().defined() && unit->flat().requires_grad())
            decay.parameters.push_back({"", "", "_flat_param", &unit->flat()});
    return {decay, no_decay};
}

void Fsdp1::forget_gradients() {
    for (Fsdp1Unit* unit : all_) unit->forget_gradient();
}

Tensor Fsdp1::before_layer(std::size_t layer, const Tensor& hidden) {
    if (layers_.empty() || !layers_[layer]) return hidden;
    layers_[layer]->pre_forward();
    layers_[layer]->leave_with(hidden);
    return hidden;
}

void Fsdp1::after_layer(std::size_t layer, const Tensor& hidden) {
    if (layers_.empty() || !layers_[layer]) return;
    layers_[layer]->post_forward();
    layers_[layer]->expect_backward(hidden);
}

// A unit of the last norm alone is gathered before the head's window begins, which a hook of the norm itself opens.
Tensor Fsdp1::before_norm(const Tensor& hidden) {
    const auto unit = single_.find(key_of(&network_.norm, Part::itself));
    if (unit != single_.end()) unit->second->pre_forward();
    return hidden;
}

Tensor Fsdp1::before(const ModuleKey& module, const Tensor& input) {
    const auto unit = single_.find(module);
    if (unit != single_.end() && module.place != &network_.norm) unit->second->pre_forward();
    return input;
}

void Fsdp1::after_all(const ModuleKey& module, std::span<Tensor* const> outputs) {
    const auto unit = single_.find(module);
    if (unit == single_.end()) return;
    unit->second->post_forward();
    unit->second->expect_backward(*outputs[0]);
}

Tensor Fsdp1::linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    return engine::linear(input, weight, bias);
}

void Fsdp1::finish_backward() {
    const GradMode no_grad(run_.session, false);
    if (shared_.reduces) {
        run_.session.streams.wait(0, Fsdp1Streams::kPostBackward);
        if (is_hybrid(shared_.plan.sharding_strategy)) run_.session.streams.wait(0, Fsdp1Streams::kAllReduce);
        if (shared_.plan.cpu_offload) run_.session.streams.host_waits(0);
    }
    shared_.is_first_iteration = false;
    shared_.post_forward_order.clear();
    for (Fsdp1Unit* unit : all_) unit->finish_backward();
}

}  // namespace vramfit::model
