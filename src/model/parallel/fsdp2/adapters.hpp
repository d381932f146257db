// Matrices of adapters that are groups of their own, as axolotl makes them.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/module_hooks.hpp"
#include "model/network/network.hpp"
#include "model/parallel/fsdp2/group.hpp"

namespace vramfit::model {

class Fsdp2Sharding;

/// axolotl 0.18, monkeypatch/accelerate/fsdp2.py _process_lora_module_for_fsdp: lora_A and lora_B of each adapter are
/// gathered by their own forward, with an input that is cast to what they compute with.
class Fsdp2Adapters final : public engine::ModuleHooks {
  public:
    explicit Fsdp2Adapters(Fsdp2Comm& comm) : comm_(comm) {}

    /// Cuts the adapters of a layer.
    void shard(Network& network, std::size_t layer, Fsdp2Sharding& sharding, bool reshards);
    bool empty() const { return groups_.empty(); }
    void finish_backward(Network& network, std::size_t layer);

    engine::Tensor before(const engine::ModuleKey& module, const engine::Tensor& input) override;
    void after_all(const engine::ModuleKey& module, std::span<engine::Tensor* const> outputs) override;
    void read(const engine::Tensor&) override {}
    engine::Tensor linear(const engine::Tensor& input, const engine::Tensor& weight,
                          const engine::Tensor& bias) override;

  private:
    Fsdp2Group* group_of(const engine::ModuleKey& module) const;

    Fsdp2Comm& comm_;
    std::map<engine::ModuleKey, std::unique_ptr<Fsdp2Group>> groups_;
};

}  // namespace vramfit::model
