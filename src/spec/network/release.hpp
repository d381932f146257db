// Releases of transformers that go with a recording.
#pragma once

#include "spec/network/document.hpp"
#include "vramfit/spec/version.hpp"

namespace vramfit::network {

/// Whether both are of one release or of patches of it.
constexpr bool are_of_one_line(const Version& a, const Version& b) { return a.major == b.major && a.minor == b.minor; }

/// Whether a network of that release is the same call for call: it was recorded with it, or recorded there too.
bool is_of_release(const Document& recording, const Version& transformers);

}  // namespace vramfit::network
