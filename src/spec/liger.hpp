// What Liger replaces in each family.
#pragma once

#include <optional>
#include <string_view>

namespace vramfit {

/// liger-kernel 0.8.5 transformers/monkey_patch.py MODEL_TYPE_TO_APPLY_LIGER_FN; _apply_liger_kernel leaves other
/// families as they are.
bool has_liger(std::string_view model_type);

/// What apply_liger_kernel_to_* of a family does to a network that is loaded already, as the Trainer calls it.
struct LigerPatches {
    std::string_view model_type;
    bool rope = true;
    bool norms_of_heads = false;          ///< q_norm and k_norm too
    bool norms_in_place = true;           ///< the layers' norms write their gradient over the incoming one
    bool last_norm_in_place = true;       ///< and so does the one behind the layers
    bool norms_of_heads_in_0_8_1 = true;  ///< q_norm and k_norm before 0.8.5 as well
};

/// Nothing for families whose patches were not compared.
std::optional<LigerPatches> liger_patches(std::string_view model_type);

}  // namespace vramfit
