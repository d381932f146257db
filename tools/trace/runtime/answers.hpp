// What the host reads from the device: nothing was computed, so the tracer says it or it is zero.
#pragma once

#include <cstddef>

namespace nodevice {

/// Fills `to` with what a read of `bytes` bytes finds.
void answer(void* to, std::size_t bytes);

/// Whether a copy of so many bytes carries contents: small ones, while the tracer asks for it.
bool carries(std::size_t bytes);

}  // namespace nodevice
