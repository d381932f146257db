// Maps that are written as one text, as on a command line: '{"use_reentrant": false}'.
#pragma once

#include "trainers/recognised.hpp"

namespace vramfit::trainers {

/// Texts under keys that the format reads as maps become maps; what is no map stays as it is.
void read_text_maps(Recognised& each);

}  // namespace vramfit::trainers
