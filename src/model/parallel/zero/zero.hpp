// DeepSpeed's engine with a ZeRO optimizer, as accelerate puts it around the network: deepspeed 0.19.8.
#pragma once

#include <memory>
#include <optional>

#include "model/network/partitions.hpp"
#include "model/parallel/zero_plan.hpp"

namespace vramfit::model {

/// deepspeed.runtime.engine.DeepSpeedEngine. Lives as long as training does.
class Zero {
  public:
    Zero() = default;
    virtual ~Zero() = default;
    Zero(const Zero&) = delete;
    Zero& operator=(const Zero&) = delete;

    /// DeepSpeedEngine.backward without its scaling by accumulation, which Trainer switches off. `boundary`: gradients
    /// are complete with this batch.
    virtual void backward(const Tensor& loss, bool boundary) = 0;

    /// DeepSpeedEngine.step at a boundary.
    virtual void step() = 0;
};

/// DeepSpeedEngine._configure_distributed_model: casts parameters and moves what waits in host memory to the device.
void place_by_deepspeed(const Run& run, Network& network);

/// deepspeed.initialize: casts and moves the network, makes the optimizer.
std::unique_ptr<Zero> make_zero(const Run& run, Network& network);

/// DeepSpeedEngine._configure_zero_optimizer: whether infinite gradients are looked for.
inline bool checks_overflow(const Run& run) { return zero_cast(run).has_value(); }

/// transformers 5.17 integrations/deepspeed.py trainer_config_finalize: what "auto" stands for.
struct ZeroSizes {
    std::int64_t bucket = 0;
    std::int64_t prefetch = 0;
    std::int64_t persistence = 0;
};
ZeroSizes sizes_of(const ZeroPlan& plan, std::int64_t hidden_size);

/// What gradients are clipped to; 0: they are not.
double clip_of(const Run& run);

}  // namespace vramfit::model
