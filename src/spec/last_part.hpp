// Names of modules.
#pragma once

#include <string_view>

namespace vramfit {

/// "q_proj" of "model.layers.0.self_attn.q_proj".
inline std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace vramfit
