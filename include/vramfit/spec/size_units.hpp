// FSDP1's units by size: what torch's size_based_auto_wrap_policy wraps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/spec/model_spec.hpp"

namespace vramfit {

/// The modules of a network without adapters that are units beside the root, by name ("model.layers.0.mlp"), in the
/// order in which they are wrapped: children first. `min_num_params`: parameters that no unit inside has, from which on
/// a module is one. A weight that embedding and head share counts for both.
std::vector<std::string> size_units(const ModelSpec& model, std::int64_t min_num_params);

/// Whether `name` is the module or inside of it; "" is the network.
bool is_inside(std::string_view name, std::string_view module);

}  // namespace vramfit
