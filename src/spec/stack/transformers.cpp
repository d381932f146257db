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

// training_args.py torch_empty_cache_steps: not in 4.40, in 4.44.
bool Stack::trainer_empties_cache() const { return transformers >= Version{4, 44, 0}; }

// training_args.py ddp_static_graph: not in 5.5.0, in 5.6.2.
bool Stack::trainer_knows_static_graphs() const { return transformers >= Version{5, 6, 0}; }

// 4.40 trainer.py get_optimizer_cls_and_kwargs gives SGD only the learning rate, 5.17 trainer_optimizer.py _get_sgd
// more.
bool Stack::sgd_reads_optim_args() const { return transformers >= Version{5, 0, 0}; }

// integrations/moe.py as read here: 5.6 and from 5.16 on; 4.x has a module for each expert, 5.0 other steps around the
// grouped products.
bool Stack::knows_mixtures() const {
    return transformers >= Version{5, 16, 0} || (transformers.major == 5 && transformers.minor == 6);
}
bool Stack::experts_are_ordered_by_argsort() const { return transformers < Version{5, 16, 0}; }

// integrations/moe.py grouped_mm_experts_forward: rows of experts that another process has are masked in the weighted
// result up to 5.16, in 5.17 in each product, from 5.18 only where experts are shared out.
bool Stack::experts_mask_each_product() const { return transformers >= Version{5, 17, 0}; }
bool Stack::experts_always_mask() const { return transformers < Version{5, 18, 0}; }

// core_model_loading.py came with 5.0; before, modeling_utils.py _load_state_dict_into_meta_model and accelerate.
bool Stack::loader_converts_tensors() const { return transformers >= Version{5, 0, 0}; }

// modeling_utils.py load_state_dict: safe_load_file(checkpoint_file) up to 4.49, then `for k in f.keys()`, which
// safetensors sorts.
bool Stack::loader_sorts_files() const { return transformers >= Version{4, 50, 0}; }

// modeling_utils.py _load_state_dict_into_meta_model: `param = empty_param.to(tensor_device)` with bitsandbytes, and
// quantizers/quantizer_bnb_*.py create_quantized_param takes it back: from 4.51 to 4.57.
bool Stack::loader_places_before_quantizing() const {
    return transformers >= Version{4, 51, 0} && transformers < Version{5, 0, 0};
}

// modeling_utils.py caching_allocator_warmup: 4.51.3 takes up to 95 % of the free memory, 4.52.4 leaves 1.2 GiB.
// In 4.50 with `hf_quantizer is None` only.
bool Stack::loader_warms_up(bool quantized) const {
    return transformers >= (quantized ? Version{4, 51, 0} : Version{4, 50, 0});
}
bool Stack::warm_up_leaves_room() const { return transformers >= Version{4, 52, 0}; }

// modeling_utils.py get_total_byte_count: _get_parameter_tp_plan up to 5.19; in 5.20 the sizes that this process has.
bool Stack::warm_up_leaves_out_plans() const { return transformers < Version{5, 20, 0}; }

// core_model_loading.py convert_and_load_state_dict_in_model: a thread pool in 5.0 to 5.3, none from 5.4 on where
// has_on_the_fly_quantization (pull request 44576).
bool Stack::loader_runs_ahead_of_quantizer() const {
    return transformers >= Version{5, 0, 0} && transformers < Version{5, 4, 0};
}

// modeling_utils.py _get_resized_embeddings: old_embeddings.weight.data = new_embeddings.weight.data.
bool Stack::resizing_keeps_embedding_module() const { return transformers >= Version{4, 43, 0}; }

// modeling_utils.py _load_state_dict_into_meta_model calls accelerate's set_module_tensor_to_device up to 4.49, and
// that ends with torch.cuda.empty_cache() (accelerate 0.29 to 1.15 utils/modeling.py).
bool Stack::loader_empties_cache() const { return transformers < Version{4, 50, 0}; }

// configuration_qwen3.py base_model_tp_plan: up to 5.2 the projections alone.
bool Stack::split_plans_have_norms_of_heads() const { return transformers >= Version{5, 3, 0}; }

// modeling_utils.py _load_state_dict_into_meta_model, "if is_fsdp_enabled()": a quantized weight goes to "cpu", in
// other processes than the first to "meta". Read in 4.44, 4.48 and 4.53.
bool Stack::loader_takes_packed_back() const {
    return transformers >= Version{4, 43, 0} && transformers < Version{5, 0, 0};
}
// The same: param_device, which 4.44 does not change.
bool Stack::loader_keeps_all_on_host() const { return transformers >= Version{4, 48, 0}; }

// configuration_utils.py PreTrainedConfig.__post_init__: the plan of a network whose head is its embedding gets
// "embed_tokens". Not in 5.14.1, in 5.15.0.
bool Stack::split_plans_have_tied_embeddings() const { return transformers >= Version{5, 15, 0}; }

// modeling_utils.py post_init, _tp_plan: {"lm_head": ...} of the class up to 4.50; replaced by the decoder's from 4.51
// to 4.53 and from 4.56 to 5.13; not touched in 4.54 and 4.55, where the decoder's is missing; both from 5.14 on.
bool Stack::split_plans_have_heads() const {
    const auto between = [&](Version first, Version end) { return first <= transformers && transformers < end; };
    return !between({4, 51, 0}, {4, 54, 0}) && !between({4, 56, 0}, {5, 14, 0});
}
bool Stack::split_plans_have_layers() const {
    return transformers < Version{4, 54, 0} || transformers >= Version{4, 56, 0};
}

// quantizers_utils.py should_convert_module, 5.0; before, integrations/bitsandbytes.py _replace_with_bnb_linear.
bool Stack::quantizer_skips_by_pattern() const { return transformers >= Version{5, 0, 0}; }

// cache_utils.py: importing it makes DynamicCache a node of torch.utils._pytree, which DDP walks: 4.50 to 4.55.
bool Stack::pytrees_know_the_cache() const {
    return transformers >= Version{4, 50, 0} && transformers < Version{4, 56, 0};
}

// trainer.py Trainer.__init__, training_args.py use_cache: not in 4.40, in 5.17.
bool Stack::trainer_decides_about_cache() const { return transformers >= Version{5, 0, 0}; }

// trainer.py create_optimizer: only for a class called Adam8bit, which no optimizer of Trainer is; pull request 37331
// of April 2025, after 4.51.
bool Stack::trainer_keeps_embeddings_in_32bit() const { return transformers >= Version{4, 52, 0}; }

// models/*/modeling_*.py: XAttention, XFlashAttention2 and XSdpaAttention up to 4.47, then ALL_ATTENTION_FUNCTIONS.
bool Stack::attention_in_classes() const { return transformers < Version{4, 48, 0}; }

// models/llama/modeling_llama.py LlamaModel.__init__: rotary_emb from 4.43 on, models/qwen2/modeling_qwen2.py's from
// 4.45 on; the layers keep theirs up to 4.47. Up to 4.44 Qwen2's has the buffers cos_cached and sin_cached.
bool Stack::llama_shares_rotary_tables() const { return transformers >= Version{4, 43, 0}; }
bool Stack::qwen2_shares_rotary_tables() const { return transformers >= Version{4, 45, 0}; }

// models/llama/modeling_llama.py LlamaRotaryEmbedding: _cos_cached and _sin_cached up to 4.40.
bool Stack::llama_caches_rotary_tables() const { return transformers < Version{4, 41, 0}; }

// models/mistral/modeling_mistral.py MistralRotaryEmbedding: cos_cached and sin_cached up to 4.41.
bool Stack::mistral_caches_rotary_tables() const { return transformers < Version{4, 42, 0}; }

// models/gemma/modeling_gemma.py GemmaRotaryEmbedding: `if self.inv_freq is None` in 4.40.
bool Stack::gemma_makes_frequencies_late() const { return transformers < Version{4, 41, 0}; }

// models/{mistral,qwen2}/modeling_*.py: _prepare_4d_causal_attention_mask up to 4.41, then _update_causal_mask.
bool Stack::masks_are_converted() const { return transformers < Version{4, 42, 0}; }

// models/*/modeling_*.py: _prepare_4d_causal_attention_mask_with_cache_position came with 4.44, Mistral's with 4.46
// (not in 4.45.2).
bool Stack::masks_have_a_function() const { return transformers >= Version{4, 44, 0}; }
bool Stack::mistral_masks_have_a_function() const { return transformers >= Version{4, 46, 0}; }

// models/{phi3,qwen2}/modeling_*.py _update_causal_mask: sliding_window=self.config.sliding_window.
bool Stack::masks_of_phi3_slide() const { return transformers >= Version{4, 46, 0}; }
bool Stack::masks_of_qwen2_slide() const {
    return transformers >= Version{4, 46, 0} && transformers < Version{4, 48, 0};
}

// models/*/modeling_*.py: _update_causal_mask up to 4.52; masking_utils.py is in use from 4.53 on.
bool Stack::masks_are_boolean() const { return transformers >= Version{4, 53, 0}; }

// masking_utils.py sdpa_mask: _vmap_for_bhqkv up to 4.57; _non_vmap_expansion_sdpa from 5.0 on.
bool Stack::masks_are_mapped() const { return transformers < Version{5, 0, 0}; }

// masking_utils.py sdpa_mask: TransformGetItemToIndex, in torch from 2.6 on; else sdpa_mask_older_torch.
bool Stack::masks_index_by_tensors() const { return torch >= Version{2, 6, 0}; }

// masking_utils.py find_packed_sequence_indices returns None where nothing is packed.
bool Stack::masks_look_for_packed_rows() const { return transformers >= Version{5, 0, 0}; }

// masking_utils.py _ignore_causal_mask_sdpa: padding_mask.all() up to 5.13, fast_all from 5.14 on.
bool Stack::masks_are_read_by_sum() const { return transformers >= Version{5, 14, 0}; }

// integrations/sdpa_attention.py use_gqa_in_sdpa, in 4.54 (with torch 2.5 and later).
bool Stack::sdpa_groups_heads() const { return transformers >= Version{4, 54, 0} && torch >= Version{2, 5, 0}; }
bool Stack::sdpa_groups_only_narrow_heads() const { return transformers >= Version{5, 13, 0}; }

// integrations/sdpa_attention.py pack_gqa: not in 5.22.0, in 5.23.0.
bool Stack::sdpa_packs_groups_of_one_token() const { return transformers >= Version{5, 23, 0}; }

// models/gemma2/modeling_gemma2.py Gemma2PreTrainedModel._supports_sdpa: True in 5.20.0, False in 5.21.0.
bool Stack::gemma2_knows_sdpa() const { return transformers < Version{5, 21, 0}; }

// integrations/sdpa_attention.py sdpa_attention_forward: query.contiguous() up to 4.55.
bool Stack::sdpa_makes_contiguous() const { return transformers < Version{4, 56, 0}; }

// modeling_flash_attention_utils.py _flash_attention_forward: position_ids came with 4.44; torch.diff(position_ids) up
// to 4.53, where it is asked for a single row only; then _is_packed_sequence.
bool Stack::flash_looks_for_packed_rows() const { return transformers >= Version{4, 44, 0}; }
bool Stack::flash_compares_positions() const { return transformers < Version{4, 54, 0}; }
bool Stack::flash_compares_all_rows() const { return transformers < Version{4, 53, 0}; }
// integrations/flash_attention.py flash_attention_forward of this release alone: s_aux.to(query.dtype), whose default
// is None; 5.5 does not know it, 5.6.1 asks whether there is one.
bool Stack::flash_attention_wants_sinks() const { return transformers == Version{5, 6, 0}; }

// models/*/modeling_*.py: cache_position = torch.arange(...) up to 5.3.
bool Stack::positions_are_offset() const { return transformers >= Version{5, 4, 0}; }

// models/gemma/modeling_gemma.py GemmaTextScaledWordEmbedding, and Gemma 2's, in 5.4.
bool Stack::gemma_embeddings_scale_themselves() const { return transformers >= Version{5, 4, 0}; }

// models/*/modeling_*.py: _gradient_checkpointing_func(decoder_layer.__call__, hidden_states, causal_mask, ...);
// modeling_layers.py GradientCheckpointingLayer calls partial(super().__call__, **kwargs) with the hidden states alone.
bool Stack::layers_take_positional_arguments() const { return transformers < Version{4, 52, 0}; }

// 4.40.2, modeling_qwen2.py, Qwen2Model.forward: sliding_window=self.config.sliding_window.
bool Stack::unused_windows_are_masked() const { return transformers < Version{4, 42, 0}; }

// cache_utils.py to_legacy_cache: models return a tuple of tuples up to 4.47 (return_legacy_cache), then a
// DynamicCache.
bool Stack::cache_is_returned_as_tuples() const { return transformers < Version{4, 48, 0}; }

// models/*/modeling_*.py of 4.43 and 4.44: `use_cache and ... and not self.training`.
bool Stack::training_fills_caches() const {
    return transformers < Version{4, 43, 0} || transformers >= Version{4, 45, 0};
}

// models/gemma2/modeling_gemma2.py Gemma2Model.forward: `and not self.training` up to 4.57.
bool Stack::training_fills_gemma2_caches() const { return transformers >= Version{5, 0, 0}; }

// The same: no cache in 4.44, HybridCache(max_cache_len=seq_len) in 4.48, DynamicCache() in 4.53.
bool Stack::gemma2_evaluates_with_cache() const { return transformers >= Version{4, 45, 0}; }
bool Stack::gemma2_evaluates_with_hybrid_cache() const {
    return gemma2_evaluates_with_cache() && transformers < Version{4, 53, 0};
}

// models/phi3/modeling_phi3.py apply_rotary_pos_emb: q_rot and q_pass since 4.49 (not in 4.48.3).
bool Stack::phi3_turns_channels_in_part() const { return transformers >= Version{4, 49, 0}; }

// models/phi3/modeling_phi3.py Phi3PreTrainedModel: _supports_sdpa = False up to 4.44.
bool Stack::phi3_knows_sdpa() const { return transformers >= Version{4, 45, 0}; }

// cache_utils.py DynamicLayer.lazy_initialization came with 4.56; before, DynamicCache.update puts the first ones in.
bool Stack::cache_starts_from_empty() const { return transformers >= Version{4, 56, 0}; }

// trainer.py get_batch_samples, pull request 34191 of October 2024, in 4.46; `.item()` in 4.47 to 4.49.
bool Stack::trainer_counts_items() const { return transformers >= Version{4, 46, 0}; }
bool Stack::trainer_counts_on_host() const {
    return transformers >= Version{4, 47, 0} && transformers < Version{4, 50, 0};
}

// trainer.py get_batch_samples: sum([...]) in 4.57.6, sum(...) in 5.0.0.
bool Stack::trainer_counts_in_a_list() const { return transformers < Version{5, 0, 0}; }

// trainer.py _loss_shifts_labels, in 5.10.
bool Stack::trainer_counts_shifted_labels() const { return transformers >= Version{5, 10, 0}; }

// trainer.py _get_num_items_in_batch: divided by the processes that share a batch, be it one: `//` in 5.19, `/`
// from 5.20.
bool Stack::trainer_always_divides_counts() const { return transformers >= Version{5, 19, 0}; }
bool Stack::trainer_divides_counts_exactly() const { return transformers >= Version{5, 20, 0}; }

// generation/utils.py GenerationMixin._sample: this_peer_finished in 5.16, what stop_check gives in 5.17.
bool Stack::generation_holds_its_end() const { return transformers < Version{5, 17, 0}; }

// generation/utils.py GenerationMixin.generate: there in 5.19, not in 5.17.
bool Stack::generation_drops_whole_masks() const { return transformers >= Version{5, 19, 0}; }

// models/*/modeling_*.py XRotaryEmbedding.forward: inv_freq @ position_ids up to 5.18, then position_ids * inv_freq.
bool Stack::rotary_multiplies_elements() const { return transformers >= Version{5, 19, 0}; }

// trainer_callback.py DefaultFlowCallback.on_step_end: not in 5.3.0, in 5.6.0.
bool Stack::evaluates_at_the_end() const { return transformers >= Version{5, 6, 0}; }

// trainer.py prediction_step: num_items_in_batch is not in 4.56.2, it is in 4.57.6.
bool Stack::evaluation_counts_items() const { return transformers >= Version{4, 57, 0}; }

// training_args.py average_tokens_across_devices: True by default from 4.54 on.
bool Stack::trainer_averages_over_devices() const { return transformers >= Version{4, 54, 0}; }

// trainer.py _run_epoch came with 5.3; before, _inner_training_loop is one function, which adds losses to a new total.
bool Stack::trainer_has_epoch_function() const { return transformers >= Version{5, 3, 0}; }

// trainer.py get_decay_parameter_names: ALL_LAYERNORM_LAYERS alone up to 4.48, then names as well.
bool Stack::trainer_groups_by_name() const { return transformers >= Version{4, 49, 0}; }

// trainer.py _inner_training_loop: `if delay_optimizer_creation: model = self.accelerator.prepare(self.model)`.
bool Stack::trainer_prepares_late_optimizers() const {
    return transformers < Version{4, 53, 1} || transformers >= Version{4, 54, 0};
}

// models/*/modeling_*.py XForCausalLM.forward: hidden_states[:, -num_logits_to_keep:, :] from 4.45 on.
bool Stack::head_takes_a_slice() const { return transformers >= Version{4, 45, 0}; }

// models/*/modeling_*.py XRotaryEmbedding.forward: emb.cos() * self.attention_scaling from 4.51 on.
bool Stack::rotary_scales_at_once() const { return transformers >= Version{4, 51, 0}; }

// models/*/modeling_*.py XForCausalLM.forward: logits.float() up to 4.45; from then on loss/loss_utils.py, which
// shifts labels from 4.49 on.
bool Stack::logits_are_float32() const { return transformers < Version{4, 46, 0}; }
bool Stack::loss_shifts_logits() const { return transformers < Version{4, 49, 0}; }

// models/mistral/modeling_mistral.py MistralForCausalLM.forward: a CrossEntropyLoss of its own over logits.float() in
// 4.46 and 4.47, and no **kwargs for the number of items.
bool Stack::mistral_has_its_own_loss() const {
    return transformers >= Version{4, 46, 0} && transformers < Version{4, 48, 0};
}

// trainer.py get_batch_samples: `if not self.model_accepts_loss_kwargs: return batch_samples, None`, in 4.46.
bool Stack::trainer_counts_for_models_that_take_it() const {
    return transformers >= Version{4, 46, 0} && transformers < Version{4, 47, 0};
}

// training_args.py OptimizerNames, pull request 33682.
bool Stack::knows_ademamix() const { return transformers >= Version{4, 46, 0}; }

// integrations/liger.py of 5.17 with liger-kernel 0.8.5. axolotl 0.19 with 5.16 pins 0.8.1, whose fused loss holds the
// logits of other parts (traced).
bool Stack::has_liger_of_its_time() const { return transformers >= Version{5, 16, 0}; }
bool Stack::has_liger_0_8_5() const { return transformers >= Version{5, 17, 0}; }

}  // namespace vramfit
