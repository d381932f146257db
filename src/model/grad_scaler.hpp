// torch.amp.GradScaler as accelerate uses it for fp16.
#pragma once

#include "model/optimizer.hpp"

namespace vramfit::model {

class GradScaler {
  public:
    /// scaler.scale(loss): the loss times the scale, which is made at the first call.
    Tensor scale(const Tensor& loss);

    /// scaler.unscale_(optimizer). Throws Error (invalid) for float16 gradients.
    void unscale(engine::Session& session, const Optimizer& optimizer);

    /// scaler.step(optimizer), scaler.update(); gradients are finite. Unscales them if that has not been done.
    void step(engine::Session& session, Optimizer& optimizer);

  private:
    void find_inf(engine::Session& session);

    Tensor scale_;
    Tensor growth_tracker_;
    Tensor found_inf_;  ///< optimizer_state["found_inf_per_device"], until update()
};

}  // namespace vramfit::model
