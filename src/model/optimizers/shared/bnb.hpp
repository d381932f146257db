// bitsandbytes' optimizers: states in 8 or 32 bits, in device or managed memory.
#pragma once

#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

/// How many moments an optimizer keeps for each parameter: Optimizer1State, Optimizer2State, AdEMAMix.
enum class BnbStates : std::uint8_t { one, two, double_and_one };

/// Optimizer8bit(optim_bits, is_paged).step. Bfloat16: the kernel for 32-bit states takes bfloat16 gradients
/// (bitsandbytes 0.43 functional.py, 0.50 backends/cuda/ops.py: str2optimizer32bit has a third function).
template <BnbStates States, int Bits, bool Paged, bool Bfloat16 = true>
void bnb_step(engine::Session& session, model::Optimizer& optimizer);

#define VRAMFIT_BNB_STEPS(prefix, states)                                                  \
    prefix template void bnb_step<states, 8, false>(engine::Session&, model::Optimizer&);  \
    prefix template void bnb_step<states, 8, true>(engine::Session&, model::Optimizer&);   \
    prefix template void bnb_step<states, 32, false>(engine::Session&, model::Optimizer&); \
    prefix template void bnb_step<states, 32, true>(engine::Session&, model::Optimizer&);

VRAMFIT_BNB_STEPS(extern, BnbStates::one)
extern template void bnb_step<BnbStates::one, 8, false, false>(engine::Session&, model::Optimizer&);
extern template void bnb_step<BnbStates::one, 32, false, false>(engine::Session&, model::Optimizer&);
VRAMFIT_BNB_STEPS(extern, BnbStates::two)
VRAMFIT_BNB_STEPS(extern, BnbStates::double_and_one)

}  // namespace vramfit::optimizers
