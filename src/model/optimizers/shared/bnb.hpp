// bitsandbytes' optimizers: states in 8 or 32 bits, in device or managed memory.
#pragma once

#include "model/optimizer.hpp"

namespace vramfit::optimizers {

/// How many moments an optimizer keeps for each parameter: Optimizer1State, Optimizer2State, AdEMAMix.
enum class BnbStates : std::uint8_t { one, two, double_and_one };

/// Optimizer8bit(optim_bits, is_paged).step.
template <BnbStates States, int Bits, bool Paged>
void bnb_step(engine::Session& session, model::Optimizer& optimizer);

#define VRAMFIT_BNB_STEPS(prefix, states)                                                  \
    prefix template void bnb_step<states, 8, false>(engine::Session&, model::Optimizer&);  \
    prefix template void bnb_step<states, 8, true>(engine::Session&, model::Optimizer&);   \
    prefix template void bnb_step<states, 32, false>(engine::Session&, model::Optimizer&); \
    prefix template void bnb_step<states, 32, true>(engine::Session&, model::Optimizer&);

VRAMFIT_BNB_STEPS(extern, BnbStates::one)
VRAMFIT_BNB_STEPS(extern, BnbStates::two)
VRAMFIT_BNB_STEPS(extern, BnbStates::double_and_one)

}  // namespace vramfit::optimizers
