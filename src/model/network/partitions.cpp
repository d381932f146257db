// deepspeed 0.19.8 runtime/zero/partition_parameters.py Init.
#include "model/network/partitions.hpp"

#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/network/shared_module.hpp"

namespace vramfit::model {

using namespace engine;

Partitions::Partitions(Session& session, const DistributedPlan& plan)
    : session_(session), world_(plan.world_size), rank_(plan.rank), on_host_(plan.as<ZeroPlan>()->offload_param) {}

const std::size_t* Partitions::find(const Tensor& parameter) const {
    const auto found = ids_.find(parameter.get());
    return found == ids_.end() ? nullptr : &found->second;
}

std::size_t Partitions::convert(const Tensor& parameter) {
    PartitionedParameter p;
    p.tensor = parameter;
    p.sizes = parameter.sizes();
    p.elements = count_of(parameter);
    p.in_piece = (p.elements + world_ - 1) / world_;
    p.module = session_.recorder.place_of(parameter->storage->id);
    ids_[parameter.get()] = all_.size();
    all_.push_back(std::move(p));
    return all_.size() - 1;
}

void Partitions::belongs(std::size_t id, Module module) {
    all_[id].module = module;
    belongs_to(all_[id].piece, module);
    belongs_to(all_[id].tensor, module);
}

Module Partitions::around(std::span<const std::size_t> ids) const {
    std::vector<Module> modules;
    for (const std::size_t id : ids) modules.push_back(all_[id].module);
    return model::around(session_.recorder, modules);
}

// What is left of a parameter has no memory; it keeps its shape here, which a graph's nodes ask for.
void Partitions::partition(std::size_t id) {
    PartitionedParameter& p = all_[id];
    if (!p.piece.defined()) {
        p.piece = on_host_ ? host_tensor(session_, {p.in_piece}, p.tensor.dtype())
                           : empty(session_, {p.in_piece}, p.tensor.dtype());
        belongs_to(p.piece, p.module);
    }
    session_.streams.record(p.tensor, session_.recorder.stream);  // free_param
    set_data(p.tensor, host_tensor(session_, p.sizes, p.tensor.dtype()));
    p.status = Status::not_available;
}

Tensor Partitions::forget_last() {
    ids_.erase(all_.back().tensor.get());
    const Tensor piece = std::move(all_.back().piece);
    all_.pop_back();
    return piece;
}

Tensor Partitions::piece_on_device(std::size_t id) const {
    return on_host_ ? to_device(all_[id].piece) : all_[id].piece;
}

void Partitions::take(std::size_t id, const Tensor& flat) {
    const PartitionedParameter& p = all_[id];
    belongs_to(flat, p.module);
    set_data(p.tensor, alias(flat, p.sizes, contiguous_strides(p.sizes)));
}

// _allgather_params_sequential (0.14: _allgather_params), _allgather_params_coalesced.
void Partitions::gather(std::span<const std::size_t> given) {
    std::vector<std::size_t> ids;
    for (const std::size_t id : given)
        if (all_[id].status == Status::not_available) ids.push_back(id);
    const auto whole = [this](std::size_t id) {
        return empty(session_, {all_[id].in_piece * world_}, all_[id].piece.dtype());
    };
    if (ids.size() == 1) {
        const Tensor flat = whole(ids[0]);
        { const Tensor piece = piece_on_device(ids[0]); }
        const bool copies = session_.stack.zero3_copies_gathered_parameter();
        take(ids[0], copies ? empty(session_, all_[ids[0]].sizes, flat.dtype()) : flat);
        session_.streams.host_waits_for_all();
    } else if (world_ == 1) {  // _no_gather_coalesced
        for (const std::size_t id : ids) take(id, piece_on_device(id));
    } else if (!ids.empty()) {
        std::vector<Tensor> pieces;
        for (const std::size_t id : ids) pieces.push_back(piece_on_device(id));
        for (const std::size_t id : ids) take(id, whole(id));
        session_.streams.host_waits_for_all();
    }
    for (const std::size_t id : ids) all_[id].status = Status::available;
}

Gathered::Gathered(Partitions* partitions, std::initializer_list<const Tensor*> parameters) : partitions_(partitions) {
    if (!partitions) return;
    for (const Tensor* t : parameters)
        if (const std::size_t* id = t->defined() ? partitions->find(*t) : nullptr) ids_.push_back(*id);
    partitions->gather(ids_);
}

Gathered::~Gathered() {
    for (const std::size_t id : ids_) partitions_->partition(id);
}

}  // namespace vramfit::model
