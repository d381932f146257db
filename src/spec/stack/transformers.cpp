// What changed between versions of transformers.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// modeling_utils.py gradient_checkpointing_enable: {"use_reentrant": True} up to 4.57, False from 5.0 on.
bool Stack::checkpointing_is_reentrant() const { return transformers < Version{5, 0, 0}; }

// 4.40.2, modeling_llama.py, modeling_mistral.py, modeling_qwen2.py: head_dim = hidden_size // num_heads; the networks
// that need another came with 4.43 (Mistral-Nemo, July 2024).
bool Stack::config_head_dim_counts() const { return transformers >= Version{4, 43, 0}; }

// modeling_rope_utils.py came with Llama 3.1 in 4.43; LlamaConfig of 4.40.2 (_rope_scaling_validation) takes "linear"
// and "dynamic" only.
bool Stack::knows_newer_rotary() const { return transformers >= Version{4, 43, 0}; }

// modeling_utils.py gradient_checkpointing_enable: needs_embedding_grads; before, only for adapters of its own.
bool Stack::checkpointing_requires_input_grads() const { return transformers >= Version{5, 0, 0}; }

// 4.40 trainer.py get_optimizer_cls_and_kwargs gives SGD only the learning rate, 5.17 trainer_optimizer.py _get_sgd
// more.
bool Stack::sgd_reads_optim_args() const { return transformers >= Version{5, 0, 0}; }

// integrations/moe.py as read here; 4.x has a module for each expert, 5.0 other steps around the grouped products.
bool Stack::knows_mixtures() const { return transformers >= Version{5, 17, 0}; }

// core_model_loading.py came with 5.0; before, modeling_utils.py _load_state_dict_into_meta_model and accelerate.
bool Stack::loader_sorts_tensors() const { return transformers >= Version{5, 0, 0}; }

// modeling_utils.py _get_resized_embeddings: old_embeddings.weight.data = new_embeddings.weight.data.
bool Stack::resizing_keeps_embedding_module() const { return transformers >= Version{4, 43, 0}; }

// modeling_utils.py _load_state_dict_into_meta_model calls accelerate's set_module_tensor_to_device up to 4.49, and
// that ends with torch.cuda.empty_cache() (accelerate 0.29 to 1.15 utils/modeling.py).
bool Stack::loader_empties_cache() const { return transformers < Version{4, 50, 0}; }

// quantizers_utils.py should_convert_module, 5.0; before, integrations/bitsandbytes.py _replace_with_bnb_linear.
bool Stack::quantizer_skips_by_pattern() const { return transformers >= Version{5, 0, 0}; }

// trainer.py Trainer.__init__, training_args.py use_cache: not in 4.40, in 5.17.
bool Stack::trainer_decides_about_cache() const { return transformers >= Version{5, 0, 0}; }

// trainer.py create_optimizer: only for a class called Adam8bit, which no optimizer of Trainer is; pull request 37331
// of April 2025, after 4.51.
bool Stack::trainer_keeps_embeddings_in_32bit() const { return transformers >= Version{4, 52, 0}; }

// Up to 4.44 each attention has a rotary embedding (4.45 modeling_llama.py: LlamaModel.rotary_emb).
bool Stack::layers_make_rotary_tables() const { return transformers < Version{4, 45, 0}; }

// models/*/modeling_*.py: _gradient_checkpointing_func(decoder_layer.__call__, hidden_states, causal_mask, ...);
// modeling_layers.py GradientCheckpointingLayer calls partial(super().__call__, **kwargs) with the hidden states alone.
bool Stack::layers_take_positional_arguments() const { return transformers < Version{4, 53, 0}; }

// 4.40.2, modeling_qwen2.py, Qwen2Model.forward: sliding_window=self.config.sliding_window.
bool Stack::unused_windows_are_masked() const { return transformers < Version{4, 42, 0}; }

// cache_utils.py to_legacy_cache: 4.40 models return a tuple of tuples, 5.17 a DynamicCache.
bool Stack::cache_is_returned_as_tuples() const { return transformers < Version{4, 45, 0}; }

// trainer.py get_batch_samples, pull request 34191 of October 2024, in 4.46.
bool Stack::trainer_counts_items() const { return transformers >= Version{4, 46, 0}; }

// trainer.py get_decay_parameter_names: ALL_LAYERNORM_LAYERS in 4.40, names in 5.17.
bool Stack::trainer_groups_by_name() const { return transformers >= Version{5, 0, 0}; }

// models/*/modeling_*.py XForCausalLM.forward up to 4.45; then loss/loss_utils.py, which shifts labels from 4.49 on.
bool Stack::loss_shifts_logits() const { return transformers < Version{4, 49, 0}; }

// training_args.py OptimizerNames, pull request 33682.
bool Stack::knows_ademamix() const { return transformers >= Version{4, 46, 0}; }

// integrations/liger.py of 5.17 with liger-kernel 0.8.5; earlier releases of Liger have not been read.
bool Stack::has_liger_of_its_time() const { return transformers >= Version{5, 15, 0}; }

}  // namespace vramfit
