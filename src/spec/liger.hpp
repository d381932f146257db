// Which families Liger has kernels for.
#pragma once

#include <string_view>

namespace vramfit {

/// liger-kernel 0.8.5 transformers/monkey_patch.py MODEL_TYPE_TO_APPLY_LIGER_FN; _apply_liger_kernel leaves other
/// families as they are.
bool has_liger(std::string_view model_type);

}  // namespace vramfit
