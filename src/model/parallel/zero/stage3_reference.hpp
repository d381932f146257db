// A network that is not trained, under ZeRO-3: pieces of its weights, and the hooks that gather them.
#pragma once

#include "model/network/run.hpp"
#include "model/parallel/zero/coordinator.hpp"

namespace vramfit::model {

/// trl 1.16 models/utils.py prepare_deepspeed with stage 3: deepspeed.initialize without an optimizer leaves
/// DeepSpeedZeRoOffload alone around the network (deepspeed 0.19.8 runtime/engine.py _configure_zero_optimizer).
class Zero3Reference final : public engine::ModuleHooks {
  public:
    /// A network that was loaded in pieces (deepspeed.zero.Init), and is called without gradients.
    Zero3Reference(const Run& run, Network& network);

    Tensor before(const engine::ModuleKey& module, const Tensor& input) override;
    void before_all(const engine::ModuleKey& module, std::span<Tensor* const> inputs) override;
    void after_all(const engine::ModuleKey& module, std::span<Tensor* const> outputs) override;
    void read(const Tensor& parameter) override;
    Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) override;

  private:
    engine::Session& session_;
    Partitions& partitions_;
    Coordinator coordinator_;
    engine::ModuleKey root_;
    std::vector<std::size_t> running_;  ///< FWD_MODULE_STACK
};

}  // namespace vramfit::model
