// Distillation: what trl's GKDConfig says.
#pragma once

#include <cstdint>
#include <optional>

namespace vramfit {

/// trl's GKDConfig: distillation from a teacher.
struct DistillationPlan {
    double lmbda = 0.5;  ///< how often the student's own completions are trained on
    double beta = 0.5;   ///< 0 and 1 are losses without a mixture
    std::int64_t max_new_tokens = 128;
    std::optional<std::int64_t> generated;  ///< tokens that completions have; absent: max_new_tokens, without an end
    bool has_temperature = true;            ///< 0.9: other than 1
    bool seq_kd = false;                    ///< else on the teacher's completions

    friend bool operator==(const DistillationPlan&, const DistillationPlan&) = default;
};

}  // namespace vramfit
