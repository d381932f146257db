// What changed between versions of peft.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// peft_model.py, get_peft_model(autocast_adapter_dtype=True) since 0.12; 0.10.0 gives adapters the dtype of their
// weight (tuners/lora/layer.py, LoraLayer.update_layer), which a quantized weight does not hand on.
bool Stack::adapters_of_float16_are_float32() const { return peft >= Version{0, 12, 0}; }

// tuners/tuners_utils.py _get_base_layer_device_and_dtype, pull request 2893.
bool Stack::adapters_take_compute_dtype() const { return peft >= Version{0, 19, 0}; }

// tuners/lora/config.py LoraConfig, pull request 2237.
bool Stack::adapters_may_have_biases() const { return peft >= Version{0, 14, 0}; }

// tuners/lora/dora.py DoraLinearLayer.forward(base_result), pull request 2122; before, DoRA is another computation.
bool Stack::dora_reuses_the_result() const { return peft >= Version{0, 14, 0}; }

// utils/other.py prepare_model_for_kbit_training, pull request 3293.
bool Stack::prepare_empties_cache() const { return peft >= Version{0, 20, 0}; }

}  // namespace vramfit
