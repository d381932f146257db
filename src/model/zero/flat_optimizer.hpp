// The optimizer that DeepSpeed hands its flat float32 partitions to.
#pragma once

#include <vector>

#include "model/optimizer.hpp"
#include "model/zero/zero.hpp"

namespace vramfit::model {

/// DeepSpeed's FusedAdam or DeepSpeedCPUAdam (section `optimizer` of the configuration), or Trainer's own.
class FlatOptimizer {
  public:
    FlatOptimizer(const Run& run, Network& network);

    /// param_groups without those that are empty.
    const std::vector<ParameterGroup>& groups() const { return optimizer_.groups; }

    /// From now on a group consists of this partition.
    void take(std::size_t group, const Tensor& partition);

    /// One group's step; its partition has a gradient.
    void step(engine::Session& session, std::size_t group);

  private:
    bool own_ = false;
    Optimizer optimizer_;
    std::vector<Tensor> partitions_;
    Tensor overflow_buffer_;  ///< FusedAdam._dummy_overflow_buf
};

}  // namespace vramfit::model
