// What a plan asks of DeepSpeed, as far as others than DeepSpeed ask for it.
#pragma once

#include <optional>

#include "model/network/run.hpp"

namespace vramfit::model {

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

}  // namespace vramfit::model
