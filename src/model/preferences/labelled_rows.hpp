// The rows of LLaMA-Factory's and ms-swift's own preference training, which bring their labels.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// A micro batch on the device, as LLaMA-Factory's collators and ms-swift's template make it.
Batch fetch_labelled(const Run& run);

}  // namespace vramfit::model
