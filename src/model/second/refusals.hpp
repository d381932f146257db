// What networks beside the one that is trained were not compared with.
#pragma once

#include <vector>

#include "model/network/run.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

void refuse_beside_networks(const Run& run, std::vector<Problem>& problems);

}  // namespace vramfit::model
