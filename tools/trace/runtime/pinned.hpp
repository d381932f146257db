// Host memory that the runtime knows of.
#pragma once

namespace nodevice {

/// Whether the address lies in a block of cudaHostAlloc or cudaHostRegister. Only asked of several processes: with one,
/// nothing depends on it.
bool is_pinned(const void* at);

}  // namespace nodevice
