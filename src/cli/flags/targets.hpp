// The words of --targets.
#pragma once

#include <string>
#include <string_view>

#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit::cli {

/// "q_proj,v_proj", "all-linear", a regular expression, or groups ("attention", "mlp", "embedding") put together.
TargetModules targets_from(std::string_view value, const ModelSpec& model, const std::string& where);

}  // namespace vramfit::cli
