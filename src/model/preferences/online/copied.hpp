// The reference of online DPO: a copy of the policy in memory.
#pragma once

#include <memory>

#include "model/network/network.hpp"

namespace vramfit::model {

/// create_reference_model: a deep copy whose parameters are frozen.
std::unique_ptr<Network> copied_network(Network& policy);

}  // namespace vramfit::model
