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

// tuners/lora/dora.py DoraLinearLayer.forward(base_result), pull request 2122.
bool Stack::dora_reuses_the_result() const { return peft >= Version{0, 14, 0}; }

// tuners/lora/dora.py DoraLinearLayer, in 0.12: x_eye in forward, deepcopy(base_layer) in update_layer. Before,
// tuners/lora/layer.py LoraLayer.dora_init and _apply_dora; 0.11 has dtype_is_fp16, 0.10 has not.
bool Stack::dora_multiplies_an_identity() const { return peft >= Version{0, 12, 0}; }
bool Stack::dora_copies_quantized_layers() const { return peft >= Version{0, 12, 0}; }
bool Stack::dora_starts_in_float32() const { return peft >= Version{0, 11, 0}; }

// tuners/lora/bnb.py, in 0.12: x = dropout(x) in front of the DoRA layer; 0.11.1 goes without.
bool Stack::dora_drops_out_in_packed_layers() const { return peft >= Version{0, 12, 0}; }

// tuners/lora/dora.py get_lora_weight, in 0.19: dtype=lora_A.weight.dtype; before, x.dtype.
bool Stack::dora_identity_has_adapter_dtype() const { return peft >= Version{0, 19, 0}; }

// tuners/lora/variants.py came with 0.16.
bool Stack::dora_is_a_variant() const { return peft >= Version{0, 16, 0}; }

// utils/other.py ModulesToSaveWrapper.update: `if adapter_name not in self.modules_to_save` from 0.15 on; before,
// _set_trainable copies what BaseTuner.inject_adapter has copied.
bool Stack::saved_modules_are_copied_twice() const { return peft < Version{0, 15, 0}; }

// utils/other.py prepare_model_for_kbit_training, pull request 3293.
bool Stack::prepare_empties_cache() const { return peft >= Version{0, 20, 0}; }

// tuners/lora/layer.py ParamWrapper: torch.baddbmm of the factors in 0.21.2; in 0.20 the experts' einsum and a sum.
bool Stack::experts_are_folded_in_one_step() const { return peft >= Version{0, 21, 0}; }

// tuners/tuners_utils.py inject_adapter calls convert_peft_config_for_transformers: not in 0.18.1, in 0.19.0.
bool Stack::adapters_reach_experts() const { return peft >= Version{0, 19, 0}; }

// tuners/tuners_utils.py _mark_only_adapters_as_trainable.
bool Stack::biases_are_called_bias() const { return peft >= Version{0, 21, 0}; }

}  // namespace vramfit
