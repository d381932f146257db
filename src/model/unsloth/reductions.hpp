// How Inductor divides reductions.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::model {

/// Into how many pieces each of `outputs` reductions over `reduced` numbers is cut; 1: it is not.
Size reduction_pieces(const engine::Session& session, Size outputs, Size reduced);

}  // namespace vramfit::model
