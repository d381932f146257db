// bitsandbytes' optimizers with two states for each parameter.
#pragma once

#include "model/optimizer.hpp"

namespace vramfit::optimizers {

/// Optimizer2State(optim_bits, is_paged).step.
template <int Bits, bool Paged>
void bnb_two_state_step(engine::Session& session, model::Optimizer& optimizer);

extern template void bnb_two_state_step<8, false>(engine::Session&, model::Optimizer&);
extern template void bnb_two_state_step<8, true>(engine::Session&, model::Optimizer&);
extern template void bnb_two_state_step<32, false>(engine::Session&, model::Optimizer&);
extern template void bnb_two_state_step<32, true>(engine::Session&, model::Optimizer&);

}  // namespace vramfit::optimizers
