// A recording as one stage of a pipeline runs it: some of the layers, by the network that has no head.
#pragma once

#include <cstddef>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// Layers of a stage, [first, end) of all.
struct StageLayers {
    std::size_t first = 0;
    std::size_t end = 0;
    std::size_t all = 0;

    bool has_embedding() const { return first == 0; }
    bool has_head() const { return end == all; }
};

/// Whether the type was compared with traces in a pipeline.
bool can_be_staged(const Document& recording);

/// The recording of a network whose other layers are gone, with nn.Identity in place of the norm behind them where the
/// last ones are. Without the embedding it is given `inputs_embeds` [B, S, H] in place of `input_ids`. Throws Error
/// (unsupported) where layers are no chain of one tensor.
Document stage_of(const Document& whole, const StageLayers& layers);

}  // namespace vramfit::network
