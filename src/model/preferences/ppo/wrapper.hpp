// PolicyAndValueWrapper: the policy and the value model, trained as one module.
#pragma once

#include "model/preferences/ppo/rollout.hpp"

namespace vramfit::model {

/// What its forward gives: the policy's output, and the values of all tokens -- [B, S, 1].
struct WrappedOutput {
    Output policy;
    Tensor values;
};

/// model(**given) as accelerate prepares it; the window of the loss begins behind it.
WrappedOutput wrapped_output(const Run& run, const PpoNetworks& networks, const Batch& given, const Place& place);

}  // namespace vramfit::model
