// Which parameters of a network are which module's, and which of them stay gathered.
#pragma once

#include <cstdint>
#include <vector>

#include "model/network/network.hpp"
#include "model/network/partitions.hpp"
#include "model/parallel/zero/coordinator.hpp"

namespace vramfit::model {

/// deepspeed 0.19.8 runtime/zero/parameter_offload.py DeepSpeedZeRoOffload.mark_persistent_parameters: those of at most
/// `threshold` elements, in the order of the modules. All parameters learn whose they are.
std::vector<std::size_t> mark_persistent_parameters(engine::Session& session, Network& network, Partitions& partitions,
                                                    std::int64_t threshold);

/// Parameters of tables, norms and linear layers, with those of their adapters.
void list_own_parameters(Network& network, Partitions& partitions, Coordinator& coordinator);

}  // namespace vramfit::model
