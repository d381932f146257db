// What a tensor is to the person who asks where the memory went.
#pragma once

#include <cstdint>

namespace vramfit {

/// Labels of bytes; every allocation has exactly one, for all of its life. docs/memory-words.md defines them.
enum class Category : std::uint8_t {
    unattributed,
    weights,
    quantization_state,
    adapters,
    gradients,
    optimizer_states,
    stored_activations,
    recomputed_activations,
    logits_and_loss,
    temporaries,
    workspaces,
    activation_gradients,
    dequantized_weights,
    reward_models,  ///< all that networks which give rewards are made of
    teacher,        ///< the same of the network that is distilled
};

inline constexpr int kCategoryCount = 15;

/// The name in JSON: "stored_activations".
const char* name_of(Category category);

}  // namespace vramfit
