// Releases of transformers that go with a recording.
#pragma once

#include "spec/network/document.hpp"
#include "spec/network/type.hpp"
#include "vramfit/base/note.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/version.hpp"

namespace vramfit::network {

/// Whether a network of that release is the same call for call: it was recorded with it, or recorded there too.
bool is_of_release(const Document& recording, const Version& transformers);

/// The recording of the type under that release: its own, or, of a release that is newer than the type, the newest one
/// before it. nullptr for an older one without a recording.
const TypeRecording* recording_under(const BuiltInType& type, const Version& transformers);

/// The Python that was recorded is that of its release: an older one, or one of another major version, has other code,
/// which is a problem; a newer one is a note.
void check_release(const Document& recording, const Stack& stack, Problems& problems, Notes& notes);

}  // namespace vramfit::network
