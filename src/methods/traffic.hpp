// What the processes of a method send to each other and to host memory.
#pragma once

#include "vramfit/methods/compare.hpp"

namespace vramfit {

/// By the collectives that the libraries call; the sources stand at each method.
Traffic traffic_of(const Prediction& prediction);

/// Bytes that all processes together keep in host memory while they train.
std::int64_t host_bytes_of(const Prediction& prediction);

}  // namespace vramfit
