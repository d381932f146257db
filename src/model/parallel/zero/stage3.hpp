// ZeRO-3: pieces of weights, gradients and the optimizer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model/parallel/zero/coordinator.hpp"
#include "model/parallel/zero/flat_optimizer.hpp"
#include "model/parallel/zero/stage3_gradients.hpp"

namespace vramfit::model {

/// deepspeed 0.19.8 runtime/zero/stage3.py DeepSpeedZeroOptimizer_Stage3, runtime/zero/parameter_offload.py
/// DeepSpeedZeRoOffload and the engine around them.
class Zero3 final : public Zero, public engine::ModuleHooks {
  public:
    Zero3(const Run& run, Network& network);
    ~Zero3() override;

    void backward(const Tensor& loss, bool boundary) override;
    void step() override;

    Tensor before(const engine::ModuleKey& module, const Tensor& input) override;
    void before_all(const engine::ModuleKey& module, std::span<Tensor* const> inputs) override;
    void after_all(const engine::ModuleKey& module, std::span<Tensor* const> outputs) override;
    void read(const Tensor& parameter) override;
    void take_off() override;
    void put_back() override;
    Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) override;

    /// Autograd functions around a module, PreBackwardFunctionForModule and PostBackwardFunctionModule.
    void before_backward(std::size_t module) {
        inside_.reset();  // a second forward may have stopped inside of a leaf
        coordinator_.fetch(module, false);
    }
    void after_backward(std::size_t module);
    /// reduce_leaf_module_grads.
    void reduce_leaf(std::size_t module);

  private:
    void wait_for_ranks();
    void convert_rest();
    void list_modules();
    void list_mixtures();
    void list_recorded();
    void list_insides();
    bool has_leaves() const;
    Tensor hooked_input(const Tensor& input, std::size_t leaf);
    void hook_output(Tensor& output);
    void make_groups();
    void defragment();
    void step_group(std::size_t group, const Tensor& norm);
    Tensor norm_of(std::size_t group);
    void offloaded_norm(std::size_t group);

    const Run& run_;
    Network& network_;
    Partitions& partitions_;
    FlatOptimizer optimizer_;
    Coordinator coordinator_;
    Stage3Gradients gradients_;
    engine::ModuleKey root_;
    std::vector<std::size_t> in_order_;  ///< parameters in the order of the modules
    std::vector<std::size_t> persistent_;
    std::vector<std::vector<std::size_t>> groups_;  ///< sub-groups
    std::vector<std::size_t> group_of_;             ///< the optimizer's group of each
    Tensor overflow_;                               ///< inf_or_nan_tracker
    Tensor weights_;                                ///< lp_param_buffer
    std::vector<Tensor> masters_;                   ///< fp32_partitioned_groups_flat
    std::vector<std::size_t> running_;              ///< FWD_MODULE_STACK
    std::vector<int> remaining_;                    ///< ds_grads_remaining, by module
    std::map<std::size_t, std::size_t> leaf_of_;    ///< param.ds_z3_leaf_module
    /// leaf_parameters: the trained ones in each such module, in the order of the optimizer's groups.
    std::map<std::size_t, std::vector<std::size_t>> leaves_;
    std::optional<std::size_t> inside_;        ///< the leaf whose forward runs: what is in it has no hooks
    std::shared_ptr<Tensor> leaf_gradient_{};  ///< BackwardHook.grad_outputs of that
    bool ran_epilogue_ = false;
    bool off_ = false;
    Tensor optimizer_norm_;
    Tensor engine_norm_;
    Tensor losses_;  ///< of the engine
};

}  // namespace vramfit::model
