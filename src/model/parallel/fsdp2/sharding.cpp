// accelerate 1.15 utils/fsdp_utils.py fsdp2_prepare_model, torch 2.11 distributed/fsdp/_fully_shard/_fsdp_init.py.
#include "model/parallel/fsdp2/sharding.hpp"

#include <algorithm>
#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/loading/load.hpp"
#include "model/loading/load_entries.hpp"
#include "model/parallel/fsdp2/parameters.hpp"
#include "spec/network/model.hpp"
#include "vramfit/spec/size_units.hpp"

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

}  // namespace

Fsdp2Sharding::Fsdp2Sharding(const Run& run, Network& network, Fsdp2Comm& comm, const Optimizer& optimizer,
                             std::vector<const Tensor*> held)
    : run_(run), network_(network), comm_(comm), held_(std::move(held)), moves_(waits_on_host(run)) {
    held_.push_back(last_parameter(optimizer));
    if (!moves_) stand_ins_ = stand_ins(optimizer);
    if (run.spec.recording) buffers_ = network::buffers_in(*run.spec.recording);
    kept_ = codes_in_state_dict(network);
}

// _move_states_to_device.
std::vector<Tensor> Fsdp2Sharding::move(const std::vector<ParameterPlaces>& parameters) {
    std::vector<Tensor> originals;
    if (!sent_.empty()) return originals;
    for (const ParameterPlaces& places : parameters) {
        if (!moves_) {
            kept_.push_back(*places[0]);
            continue;
        }
        originals.push_back(move_to_device(network_, places));
        for (const Tensor* place : places)
            if (std::find(held_.begin(), held_.end(), place) != held_.end()) kept_.push_back(originals.back());
    }
    return originals;
}

std::unique_ptr<Fsdp2Group> Fsdp2Sharding::cut(const std::vector<ParameterPlaces>& parameters, bool reshards) {
    std::vector<ShardedParameter> shards;
    for (const ParameterPlaces& places : parameters)
        shards.push_back({places, sent_.empty() ? make_shard(comm_, *places[0], Op::new_empty) : sent_.at(places[0])});
    return std::make_unique<Fsdp2Group>(comm_, shards, reshards);
}

void Fsdp2Sharding::move_scale() {
    if (!moves_ || !embedding_scales_itself(run_) || network_.embed.scale.defined()) return;
    std::optional<OriginalModule>& original = network_.embed.original;
    for (Tensor* scale : {original ? &original->scale : nullptr, &network_.embed.scale})
        if (scale) *scale = empty(run_.session, {}, run_.plan.load.dtype, Op::to_copy);
}

/// The buffers of a recorded network's module that are not there yet. The empty path: of all.
void Fsdp2Sharding::move_buffers(std::string_view path) {
    if (!moves_) return;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        const bool is_there = network_.buffers[i].defined() && !is_on_host(network_.buffers[i]);
        if (!is_there && is_inside(buffers_[i].name, path))
            network_.buffers[i] = recorded_buffer(run_, buffers_[i], Op::to_copy);
    }
}

std::unique_ptr<Fsdp2Group> Fsdp2Sharding::group(const std::vector<ParameterPlaces>& parameters, bool reshards,
                                                 std::string_view path) {
    const auto originals = move(parameters);
    if (sent_.empty() && !path.empty()) move_buffers(path);
    return cut(parameters, reshards);
}

std::unique_ptr<Fsdp2Group> Fsdp2Sharding::group_with_scale(const std::vector<ParameterPlaces>& parameters,
                                                            bool reshards) {
    const auto originals = move(parameters);
    if (sent_.empty()) move_scale();
    if (sent_.empty()) move_buffers(network_.embed.name);
    return cut(parameters, reshards);
}

std::unique_ptr<Fsdp2Group> Fsdp2Sharding::root(const std::vector<ParameterPlaces>& parameters, bool reshards) {
    const auto originals = move(parameters);
    move_scale();
    move_buffers({});
    for (int i = 0; moves_ && i < rotary_buffers(run_); ++i)
        network_.buffers.push_back(
            empty(run_.session, {(run_.spec.rotary_dim() + 1) / 2}, DType::float32, Op::to_copy));
    return parameters.empty() ? nullptr : cut(parameters, reshards);
}

}  // namespace vramfit::model
