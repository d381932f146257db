// ZeRO-1 and ZeRO-2: whole weights, a partition of the optimizer, of stage 2 also of the gradients.
#pragma once

#include <vector>

#include "model/parallel/zero/buckets.hpp"
#include "model/parallel/zero/flat_optimizer.hpp"

namespace vramfit::model {

/// deepspeed 0.19.8 runtime/zero/stage_1_and_2.py DeepSpeedZeroOptimizer and the engine around it.
class Zero12 final : public Zero {
  public:
    Zero12(const Run& run, Network& network);
    ~Zero12() override;

    void backward(const Tensor& loss, bool boundary) override;
    void step() override;

  private:
    std::vector<ZeroGroup> make_groups();
    void flatten(ZeroGroup& group, bool on_card);
    void step_group(std::size_t group, const Tensor& norm);
    void step_offloaded();

    const Run& run_;
    FlatOptimizer optimizer_;
    std::vector<Tensor> masters_;  ///< single_partition_of_fp32_groups; undefined if offloaded
    std::vector<ZeroGroup> groups_;
    ZeroBuckets buckets_;
    Tensor transfer_;        ///< temp_grad_buffer_for_gpu_offload
    Tensor optimizer_norm_;  ///< DeepSpeedZeroOptimizer._global_grad_norm
    Tensor engine_norm_;     ///< DeepSpeedEngine._global_grad_norm
    Tensor losses_;          ///< of the engine
};

}  // namespace vramfit::model
