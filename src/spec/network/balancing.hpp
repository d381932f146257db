// The loss that balances experts, which trl's SFTTrainer adds to that of a recorded mixture.
#pragma once

#include <optional>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// Whether modules of this kind give a router's logits as their first output, the chosen experts as their third.
bool is_router(const ModuleKind& kind);

/// Whether SFTTrainer asks routers for their logits; `asked` is its router_aux_loss_coef.
bool sft_asks_routers(const Document& recording, std::optional<double> asked);

/// Whether there are routers, whose logits are known.
bool has_routers(const Document& recording);

/// Whether the configuration has num_experts, which SFTTrainer reads.
bool names_its_experts(const Document& recording);

}  // namespace vramfit::network
