// KTO's losses of desirable rows and of the others.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// Whether the loss has a KL term.
bool has_kl(const Run& run);

/// What one kind of rows has: desirable ones, or the others.
struct UnpairedSide {
    Tensor log_probs, reference, log_ratios, losses, rewards;
};

UnpairedSide losses_of(const Run& run, const Tensor& log_probs, const Tensor& reference, const Tensor& kl,
                       bool desirable);

/// The weighted losses of both, one after the other.
Tensor losses_of_both(const UnpairedSide& desired, const UnpairedSide& others);

/// The KL term of log-probabilities, or a zero.
Tensor kl_of(const Run& run, const Tensor& policy, const Tensor& reference);

}  // namespace vramfit::model
