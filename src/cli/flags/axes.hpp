// Lists of values for the axes of a sweep.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/sweep/space.hpp"

namespace vramfit::cli {

/// "8,16,32", "8..256:x2" (times 2), "512..8192:+512" (plus 512), "1..4" (plus 1). Throws Error (invalid).
std::vector<std::int64_t> axis_from(std::string_view value, const std::string& where);

/// "attention,mlp,attention+mlp,q_proj+v_proj": sets divided by commas, their members joined by "+". Throws Error.
std::vector<TargetSet> target_sets_from(std::string_view value, const ModelSpec& model, const std::string& where);

/// Every set of the modules of "q_proj,v_proj" with at least one, the smaller sets first, as --targets takes them:
/// "q_proj,v_proj,q_proj+v_proj". Throws Error (invalid).
std::string each_set_of(std::string_view modules, const std::string& where);

}  // namespace vramfit::cli
