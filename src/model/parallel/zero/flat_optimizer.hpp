// The optimizer that DeepSpeed hands its flat float32 partitions to.
#pragma once

#include <vector>

#include "model/parallel/zero/zero.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::model {

/// What the section `optimizer` of the configuration names, or Trainer's own.
class FlatOptimizer {
  public:
    FlatOptimizer(const Run& run, Network& network);

    /// param_groups without those that are empty.
    const std::vector<ParameterGroup>& groups() const { return optimizer_.groups; }

    /// From now on these partitions are stepped, each with the arguments of a group.
    void take(const std::vector<Tensor>& partitions, const std::vector<std::size_t>& groups);

    /// One partition's step; it has a gradient.
    void step(engine::Session& session, std::size_t partition);

  private:
    Optimizer over(std::size_t partition);

    std::size_t moments_ = 0;  ///< of DeepSpeed's own; 0: a torch optimizer
    Optimizer optimizer_;
    std::vector<Tensor> partitions_;
    std::vector<std::size_t> group_of_;  ///< by partition
    std::vector<OptimizerState> states_;
    Tensor overflow_buffer_;  ///< FusedAdam._dummy_overflow_buf
};

}  // namespace vramfit::model
