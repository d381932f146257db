// axolotl 0.18 monkeypatch/accelerate/fsdp2.py, torch 2.11 distributed/fsdp/_fully_shard/_fsdp_state.py.
#include "model/parallel/fsdp2/adapters.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/session.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/parallel/fsdp2/hooks.hpp"
#include "model/parallel/fsdp2/parameters.hpp"
#include "model/parallel/fsdp2/sharding.hpp"

namespace vramfit::model {

using namespace engine;

void Fsdp2Adapters::shard(Network& network, std::size_t layer, Fsdp2Sharding& sharding, bool reshards) {
    for (Linear* linear : adapted_linears(network, layer)) {
        groups_[key_of(linear, Part::lora_a)] = sharding.group({{&linear->lora->a}}, reshards);
        groups_[key_of(linear, Part::lora_b)] = sharding.group({{&linear->lora->b}}, reshards);
    }
}

Fsdp2Group* Fsdp2Adapters::group_of(const ModuleKey& module) const {
    const auto found = groups_.find(module);
    return found == groups_.end() ? nullptr : found->second.get();
}

// FSDPState._pre_forward: cast_forward_inputs, before anything is gathered.
Tensor Fsdp2Adapters::before(const ModuleKey& module, const Tensor& input) {
    Fsdp2Group* const group = group_of(module);
    if (!group || group->is_in_backward()) return input;
    return enter_group(*group, comm_.compute_dtype ? to(input, *comm_.compute_dtype) : input);
}

void Fsdp2Adapters::after_all(const ModuleKey& module, std::span<Tensor* const> outputs) {
    if (Fsdp2Group* const group = group_of(module)) leave_group(*group, *outputs[0]);
}

Tensor Fsdp2Adapters::linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    return engine::linear(input, weight, bias);
}

void Fsdp2Adapters::finish_backward(Network& network, std::size_t layer) {
    if (groups_.empty()) return;
    for (Linear* linear : adapted_linears(network, layer))
        for (const Part part : {Part::lora_a, Part::lora_b}) group_of(key_of(linear, part))->finish_backward();
}

}  // namespace vramfit::model
