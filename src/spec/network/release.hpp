// Releases of transformers that go with a recording.
#pragma once

#include "spec/network/document.hpp"
#include "spec/network/type.hpp"
#include "vramfit/spec/version.hpp"

namespace vramfit::network {

/// Whether a network of that release is the same call for call: it was recorded with it, or recorded there too.
bool is_of_release(const Document& recording, const Version& transformers);

/// The recording of the type under that release: its own, or, of a release that is newer than the type, the newest one
/// before it. nullptr for an older one without a recording.
const TypeRecording* recording_under(const BuiltInType& type, const Version& transformers);

}  // namespace vramfit::network
