// torchtune's optimizer_in_bwd: each parameter is updated as soon as its gradient is there, and the gradient freed.
#pragma once

#include <unordered_map>

#include "model/step/optimizer.hpp"

namespace vramfit::model {

/// One optimizer for each trained parameter, called behind the accumulation of its gradient.
class StepInBackward {
  public:
    StepInBackward(const Run& run, Network& network);
    ~StepInBackward();
    StepInBackward(const StepInBackward&) = delete;
    StepInBackward& operator=(const StepInBackward&) = delete;

  private:
    void update(const Tensor& leaf);

    engine::Session& session_;
    std::unordered_map<const engine::TensorImpl*, Optimizer> optimizers_;
};

}  // namespace vramfit::model
