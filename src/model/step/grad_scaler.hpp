// The loss scaler that accelerate chooses for fp16.
#pragma once

#include "model/step/optimizer.hpp"

namespace vramfit::model {

/// How gradients lie on the processes: accelerate 1.15 Accelerator.__init__ takes torch.amp.GradScaler (of FSDP2's
/// DTensors too), under FSDP1 torch's ShardedGradScaler.
enum class ScaledGradients : std::uint8_t { whole, dtensors, fsdp1_parts };

class GradScaler {
  public:
    /// `on_host`: gradients are in host memory.
    explicit GradScaler(ScaledGradients gradients = ScaledGradients::whole, bool on_host = false)
        : gradients_(gradients), on_host_(on_host) {}

    /// scaler.scale(loss): the loss times the scale, which is made at the first call.
    Tensor scale(const Tensor& loss);

    /// scaler.unscale_(optimizer). Throws Error (invalid) for float16 gradients.
    void unscale(engine::Session& session, const Optimizer& optimizer);

    /// scaler.step(optimizer), scaler.update(); gradients are finite. Unscales them if that has not been done.
    void step(engine::Session& session, Optimizer& optimizer);

  private:
    void find_inf(engine::Session& session, const Optimizer& optimizer);
    void share_found_inf();

    ScaledGradients gradients_;
    bool on_host_;

    Tensor scale_;
    Tensor growth_tracker_;
    Tensor found_inf_;  ///< optimizer_state["found_inf_per_device"], until update()
};

}  // namespace vramfit::model
