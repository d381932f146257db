// DeepSpeed's engine with a ZeRO optimizer, as accelerate puts it around the network: deepspeed 0.19.8.
#pragma once

#include <memory>
#include <optional>

#include "model/causal_lm.hpp"

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

/// deepspeed.initialize: casts and moves the network, makes the optimizer.
std::unique_ptr<Zero> make_zero(const Run& run, Network& network);

/// The plan's ZeRO, or null.
inline const ZeroPlan* zero_of(const TrainPlan& plan) {
    return plan.distributed ? plan.distributed->as<ZeroPlan>() : nullptr;
}

/// What DeepSpeed casts the network to; nothing without bf16 and fp16.
inline std::optional<DType> zero_cast(const Run& run) {
    const ZeroPlan& plan = *zero_of(run.plan);
    if (plan.fp16.value_or(run.plan.training.fp16)) return DType::float16;
    if (plan.bf16.value_or(run.plan.training.bf16)) return DType::bfloat16;
    return {};
}

/// DeepSpeedEngine.get_data_types: what gradients are added up in, also what they are sent in.
inline DType zero_dtype(const Run& run) { return zero_cast(run).value_or(DType::float32); }

/// DeepSpeedEngine._configure_zero_optimizer: whether infinite gradients are looked for.
inline bool checks_overflow(const Run& run) { return zero_cast(run).has_value(); }

/// A number of elements that decides what happens.
inline std::int64_t count_of(const Tensor& t) { return static_cast<std::int64_t>(t.numel()); }

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
