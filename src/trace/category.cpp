// The names of categories in JSON.
#include "vramfit/trace/category.hpp"

namespace vramfit {

const char* name_of(Category category) {
    switch (category) {
        case Category::unattributed: return "unattributed";
        case Category::weights: return "weights";
        case Category::quantization_state: return "quantization_state";
        case Category::adapters: return "adapters";
        case Category::gradients: return "gradients";
        case Category::optimizer_states: return "optimizer_states";
        case Category::stored_activations: return "stored_activations";
        case Category::recomputed_activations: return "recomputed_activations";
        case Category::logits_and_loss: return "logits_and_loss";
        case Category::temporaries: return "temporaries";
        case Category::workspaces: return "workspaces";
        case Category::activation_gradients: return "activation_gradients";
        case Category::dequantized_weights: return "dequantized_weights";
        case Category::reward_models: return "reward_models";
        case Category::teacher: return "teacher";
    }
    return "unknown";
}

}  // namespace vramfit
