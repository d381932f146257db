// A second network in a job: a reward model, a teacher.
#pragma once

#include <cstdint>
#include <optional>

#include "vramfit/spec/load_plan.hpp"
#include "vramfit/spec/model_spec.hpp"

namespace vramfit {

/// A network beside the one that is trained, which is only evaluated: a reward model, a teacher.
struct SecondNetwork {
    ModelSpec model;
    std::optional<DType> dtype;  ///< absent: the checkpoint's
    AttentionImplementation attention = AttentionImplementation::sdpa;
    bool on_device = false;  ///< loaded onto the card by the script; false: in host memory, from which it is moved
    std::optional<QuantizationPlan> quantization;
    std::optional<std::int64_t> sequence_length;  ///< of its rows; absent: as of the policy's

    friend bool operator==(const SecondNetwork&, const SecondNetwork&) = default;
};

}  // namespace vramfit
