// The rows of BCO: completions with a label each, as a list of the host.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// A micro batch on the device. With `references` it brings the rows' log-probabilities.
Batch fetch_classified(const Run& run, bool references);

}  // namespace vramfit::model
