// The versions of the libraries, and what follows from them: one named question for each behaviour that changed.
// Each answer stands in src/spec/stack/<library>.cpp with its source; model code never compares versions.
#pragma once

#include <cstdint>
#include <string>

#include "vramfit/spec/device.hpp"
#include "vramfit/spec/version.hpp"

namespace vramfit {

struct Stack {
    std::string name;
    Version torch;
    Version transformers;
    Version peft;
    Version bitsandbytes;
    Version accelerate;
    Version trl;        ///< zeros: none
    Version deepspeed;  ///< zeros: none (no named stack holds it)
    Version flash_attn;
    Version unsloth;  ///< zeros: none, or the release that Unsloth's step was first compared with

    friend bool operator==(const Stack&, const Stack&) = default;

    // torch
    bool mean_saves_its_input() const;                            ///< mean(dim) keeps its input for backward
    bool cublas_workspace_is_32_mib(const Capability& on) const;  ///< instead of 8.125 MiB
    bool cublas_workspace_stays() const;                          ///< kept for each thread; else given back at once
    bool cublaslt_shares_its_workspace() const;                   ///< with cuBLAS
    bool addmm_takes_one_row_for_a_bias() const;                  ///< and then goes to cublasLt
    bool outer_products_are_native() const;                       ///< bmm over one channel by a kernel of its own
    bool cublaslt_workspace_stays() const;                        ///< cublasLt's scratch is kept for each thread
    bool cublaslt_workspace_is_limited() const;                   ///< to as much as cuBLAS has
    bool grad_scale_is_multiplied() const;                        ///< GradScaler.step of a fused optimizer
    bool foreach_norms_share_storage() const;                     ///< _foreach_norm returns views of one tensor
    bool foreach_norms_pack_chunks() const;                       ///< scratch for each chunk there is, not for the most
    bool foreach_groups_backwards() const;                        ///< tensors grouped by dtype, the last dtype first
    bool multinomial_asks_aminmax() const;                        ///< for the smallest and largest number at once
    bool clip_keeps_norms() const;                                ///< clip_grad_norm_ holds the single norms to its end
    bool allocator_knows_non_split_rounding() const;              ///< the setting max_non_split_rounding_mb
    bool allocator_knows_memory_fraction() const;                 ///< the setting per_process_memory_fraction
    bool allocator_knows_large_segment_size() const;              ///< the setting large_segment_size_mb
    bool allocator_knows_throw_on_device_oom() const;             ///< the setting throw_on_cudamalloc_oom
    bool allocator_orders_blocks_by_creation() const;        ///< equal free blocks: the earliest block, not the lowest
    bool allocator_orders_segments_by_creation() const;      ///< equal free blocks: the earliest segment first
    bool flash_attention_keeps_its_state_on_device() const;  ///< seed and offset of dropout, 16 and 8 bytes
    bool math_attention_upcasts() const;                     ///< sdpa's math kernel computes half inputs in float32
    bool math_attention_softmax_is_safe() const;             ///< rows that are masked as a whole become zero
    bool safe_softmax_selects() const;                       ///< where(), not in place
    bool flash_attention_runs_beyond_hopper() const;         ///< capabilities 10.x and 12.x
    bool flash_attention_trains_largest_heads() const;       ///< more than 224 channels on capabilities 8.6 and 8.9
    bool flash_attention_rounds_large_heads() const;         ///< above 128 channels to multiples of 64, not 32
    bool efficient_attention_accumulates_all_keys() const;   ///< float32 gradients of all keys for each split
    bool efficient_attention_groups_heads() const;           ///< keys and values of fewer heads than queries
    bool efficient_attention_keeps_its_seed() const;         ///< and its offset, 8 bytes each, without dropout
    bool attention_inverts_boolean_masks() const;            ///< before it looks where they are true
    bool attention_fills_boolean_masks() const;              ///< additive masks by zeros and masked_fill_, not where
    bool has_cudnn_attention() const;                        ///< with masks and a backward pass
    bool prefers_cudnn_attention() const;                    ///< on capabilities 9.0, 10.0 and 10.3
    bool whole_slices_are_nodes() const;                     ///< a literal `:` in a subscript stands on the tape
    bool layer_norm_sums_in_blocks() const;                  ///< the gradients of weight and bias over many rows
    bool cub_is_3() const;                                   ///< tunings and tile states of cub's device algorithms

    // flash_attn
    bool flash_attn_counts_processors_twice() const;  ///< when it decides over how many parts the keys are split

    // transformers
    bool checkpointing_is_reentrant() const;          ///< without gradient_checkpointing_kwargs
    bool checkpointing_requires_input_grads() const;  ///< gradient_checkpointing_enable installs the hook itself
    bool trainer_knows_static_graphs() const;         ///< ddp_static_graph
    bool loader_converts_tensors() const;             ///< in order of their names; before, file by file
    bool loader_sorts_files() const;                  ///< the tensors of a file in order of their names
    bool loader_places_before_quantizing() const;     ///< a copy is quantized, and the next tensor replaces the first
    bool loader_warms_up(bool quantized) const;       ///< the allocator, with a block for all weights
    bool warm_up_leaves_room() const;                 ///< 1.2 GiB of what is free; before, 5 percent
    bool warm_up_leaves_out_plans() const;            ///< of tensor parallelism
    bool loader_runs_ahead_of_quantizer() const;      ///< threads load what is to be quantized
    bool resizing_keeps_embedding_module() const;     ///< and frees its old rows before the head gets new ones
    bool loader_empties_cache() const;                ///< after each tensor that is not quantized
    bool split_plans_have_norms_of_heads() const;     ///< plans for tensor parallelism
    bool split_plans_have_tied_embeddings() const;
    bool split_plans_have_heads() const;
    bool split_plans_have_layers() const;
    bool loader_takes_packed_back() const;    ///< quantized weights return to host memory where FSDP is on,
    bool loader_keeps_all_on_host() const;    ///< and the others do not leave it
    bool quantizer_skips_by_pattern() const;  ///< llm_int8_skip_modules are regular expressions
    bool attention_in_classes() const;        ///< a class for each kernel, which makes its rotary tables
    bool llama_shares_rotary_tables() const;  ///< one rotary module of the decoder for all layers
    bool qwen2_shares_rotary_tables() const;
    bool llama_caches_rotary_tables() const;     ///< buffers of all positions, which nothing uses
    bool mistral_caches_rotary_tables() const;   ///< and takes the rows of the positions
    bool gemma_makes_frequencies_late() const;   ///< in the first forward pass
    bool masks_are_converted() const;            ///< mistral, qwen2: modeling_attn_mask_utils.py
    bool masks_have_a_function() const;          ///< whose variables go before rows without tokens are opened
    bool mistral_masks_have_a_function() const;  ///< ... later
    bool masks_of_phi3_slide() const;            ///< additive ones
    bool masks_of_qwen2_slide() const;
    bool masks_are_boolean() const;               ///< masking_utils.py; before, additive
    bool masks_are_mapped() const;                ///< by torch.vmap
    bool masks_index_by_tensors() const;          ///< ... also over rows
    bool masks_look_for_packed_rows() const;      ///< and drop what they found where nothing is packed
    bool masks_are_read_by_sum() const;           ///< the host's question whether all are ones
    bool sdpa_groups_heads() const;               ///< enable_gqa instead of repeated keys and values
    bool sdpa_groups_only_narrow_heads() const;   ///< up to 256 channels
    bool sdpa_packs_groups_of_one_token() const;  ///< in place of repeated keys and values
    bool gemma2_knows_sdpa() const;
    bool sdpa_makes_contiguous() const;              ///< queries, keys and values
    bool flash_looks_for_packed_rows() const;        ///< where there is no mask,
    bool flash_compares_positions() const;           ///< each with the one before; later, all with a range,
    bool flash_compares_all_rows() const;            ///< also where there is more than one
    bool flash_attention_wants_sinks() const;        ///< and stops where the model has none
    bool positions_are_offset() const;               ///< arange + 0 for the tokens seen; before, cache_position
    bool gemma_embeddings_scale_themselves() const;  ///< by a buffer; before, the model by a number of the host
    bool layers_take_positional_arguments() const;   ///< masks and positions are arguments of a checkpointed layer
    bool unused_windows_are_masked() const;          ///< qwen2: whatever use_sliding_window says
    bool generation_holds_its_end() const;      ///< whether all rows are done is a tensor from one token to the next
    bool generation_drops_whole_masks() const;  ///< those without padding
    bool cache_is_returned_as_tuples() const;   ///< keys and values of a forward pass
    bool training_fills_caches() const;         ///< whatever use_cache says, some releases did not
    bool training_fills_gemma2_caches() const;
    bool gemma2_evaluates_with_cache() const;
    bool gemma2_evaluates_with_hybrid_cache() const;  ///< of whole rows, made before the first layer
    bool phi3_knows_sdpa() const;
    bool phi3_turns_channels_in_part() const;        ///< the rest is put behind them, be it empty
    bool cache_starts_from_empty() const;            ///< keys and values are joined with tensors of no places
    bool head_takes_a_slice() const;                 ///< of the hidden states: logits_to_keep
    bool rotary_multiplies_elements() const;         ///< positions and frequencies; before, a product of matrices
    bool rotary_scales_at_once() const;              ///< cos and sin, each when it is made
    bool logits_are_float32() const;                 ///< the model returns them so
    bool loss_shifts_logits() const;                 ///< else labels are
    bool config_head_dim_counts() const;             ///< llama, mistral and qwen2 use the config's head_dim
    bool knows_newer_rotary() const;                 ///< rotary types beyond linear and dynamic
    bool trainer_decides_about_cache() const;        ///< TrainingArguments.use_cache goes into the config
    bool trainer_keeps_embeddings_in_32bit() const;  ///< states of 8-bit optimizers
    bool trainer_counts_items() const;               ///< num_items_in_batch; all batches of an update fetched first
    bool trainer_counts_in_a_list() const;           ///< and then sums
    bool trainer_counts_on_host() const;             ///< num_items_in_batch.item()
    bool trainer_always_divides_counts() const;      ///< by the processes that share a batch, be it one
    bool trainer_divides_counts_exactly() const;     ///< to a float32
    bool trainer_counts_shifted_labels() const;      ///< all but the first of each row
    bool evaluates_at_the_end() const;               ///< also where the last step is none of each n-th
    bool evaluation_counts_items() const;            ///< as training does; before, the model takes the mean
    bool zero_is_known() const;                      ///< DeepSpeed's ZeRO and Trainer around it were compared
    bool zero_is_of_2024() const;                    ///< DeepSpeed 0.14 and the libraries of its time
    bool ddp_is_known() const;                       ///< torch's reducer and Trainer around it were compared
    bool sft_of_processes_is_known() const;          ///< SFTTrainer's step with several processes was compared
    bool collectives_record_streams() const;         ///< a group keeps what it works on until the host knows it is done
    bool pytrees_know_the_cache() const;             ///< DDP finds the tensors of a DynamicCache in an output
    bool tensor_parallelism_is_known() const;        ///< transformers' tp_plan was compared
    bool fsdp1_is_known() const;              ///< torch's FullyShardedDataParallel and Trainer around it were compared
    bool fsdp1_clips_by_a_kept_zero() const;  ///< where there are no gradients; before, by a new one each time
    bool fsdp2_is_known() const;              ///< torch's fully_shard and accelerate's units were compared
    bool trainer_averages_over_devices() const;           ///< the loss times their number
    bool trainer_has_epoch_function() const;              ///< whose variables go before training ends
    bool trainer_groups_by_name() const;                  ///< weight decay; before, by the classes of modules
    bool trainer_prepares_late_optimizers() const;        ///< FSDP1: accelerate wraps what is made behind the network
    bool mistral_has_its_own_loss() const;                ///< the mean over float32 logits, whatever is counted
    bool trainer_counts_for_models_that_take_it() const;  ///< tokens of a batch
    bool knows_ademamix() const;                          ///< transformers' names of optimizers
    bool knows_mixtures() const;                          ///< as this program does: merged experts, grouped products
    bool experts_are_ordered_by_argsort() const;          ///< of tokens that are counted out before
    bool experts_always_mask() const;                     ///< rows of experts that other processes have
    bool experts_mask_each_product() const;               ///< before, the weighted result
    bool trainer_empties_cache() const;                   ///< torch_empty_cache_steps
    bool sgd_reads_optim_args() const;                    ///< momentum from TrainingArguments.optim_args

    bool has_liger_of_its_time() const;  ///< Liger's kernels as of 0.8, which no stack names
    bool has_liger_0_8_5() const;        ///< ... and not those of 0.8.1, which axolotl 0.19 pins

    // peft
    bool adapters_of_float16_are_float32() const;  ///< adapters are cast up where weights are not quantized
    bool adapters_take_compute_dtype() const;  ///< of a 4-bit layer, before they are cast up; else they stay float32
    bool adapters_reach_experts() const;       ///< those of names that experts' modules had in transformers 4
    bool adapters_may_have_biases() const;     ///< LoraConfig.lora_bias
    bool dora_reuses_the_result() const;       ///< of the layer inside, where nothing is dropped out
    bool dora_multiplies_an_identity() const;  ///< to get the adapter's weight; before, its matrices
    bool dora_identity_has_adapter_dtype() const;
    bool dora_copies_quantized_layers() const;  ///< when the magnitude is made
    bool dora_starts_in_float32() const;        ///< where the adapter is float16
    bool dora_drops_out_in_packed_layers() const;
    bool experts_are_folded_in_one_step() const;  ///< adapters of parameters by baddbmm; before, their product is added
    bool dora_is_a_variant() const;               ///< which quantized layers leave the whole sum to
    bool saved_modules_are_copied_twice() const;
    bool prepare_empties_cache() const;   ///< prepare_model_for_kbit_training
    bool biases_are_called_bias() const;  ///< those that the option bias "all" trains; before, "bias" is in their name

    // bitsandbytes
    bool product_4bit_is_an_operator() const;   ///< bitsandbytes::gemm_4bit with a fused kernel
    bool layers_4bit_take_input_dtype() const;  ///< Linear4bit: the first input decides the compute dtype
    bool layers_8bit_are_row_major() const;     ///< MatMul8bitLt without turned copies of the weight
    bool matmul_4bit_keeps_its_input() const;   ///< in attributes of ctx, beside autograd
    bool absmax_is_centred_in_place() const;    ///< quantize_4bit with double quantization
    bool nested_code_is_shared() const;         ///< quantize_blockwise: no copy of the code table
    std::int64_t optimizer_block_size() const;  ///< elements of an 8-bit state for one absmax

    // deepspeed
    bool deepspeed_casts_buffers() const;            ///< with the parameters
    bool deepspeed_clips_by_default() const;         ///< where the key is left out
    bool deepspeed_keeps_losses() const;             ///< a copy of the loss, to the end of the step
    bool deepspeed_hooks_nodes() const;              ///< of gradients; later the parameters
    bool zero2_flattens_in_host_memory() const;      ///< always, not where the card is short of room
    bool zero2_fills_bucket_from_start() const;      ///< the bucket is there before the backward pass begins
    bool zero2_updates_offloaded_on_device() const;  ///< float32 weights come onto the card to be cast there
    bool zero2_widens_for_overflow() const;          ///< gradients are looked at in float32
    bool zero3_clones_before_cast() const;           ///< float32 weights: the half ones are copied first
    bool zero3_copies_gathered_parameter() const;    ///< a single one, out of a flat tensor
    bool zero3_replaces_linear_after_load() const;   ///< also of a network that was not made in zero.Init
    bool zero3_records_first_pass() const;           ///< of the modules, else the second
    bool zero3_compares_lengths() const;             ///< of lists that all processes should have
    bool zero3_norm_is_selected() const;             ///< by where, else summed from masked parts

    // accelerate
    bool dispatch_hooks_quantized_models() const;  ///< of bitsandbytes, also on a single device

    // trl
    bool sft_prepares_model() const;    ///< SFTTrainer calls prepare_model_for_kbit_training and get_peft_model itself
    bool sft_balances_experts() const;  ///< SFTTrainer adds the loss that balances experts by itself
    bool sft_scores_in_chunks() const;  ///< SFTTrainer's loss from a head fused with the log-probabilities
    bool dpo_scores_in_chunks() const;  ///< the same of DPO, KTO, GRPO and RLOO, which have whole logits before
    bool llama_factory_preferences_are_known() const;
    bool ms_swift_preferences_are_known() const;
    bool sft_leaves_adapters_under_zero3() const;  ///< SFTTrainer makes adapters without autocast_adapter_dtype
    bool preferences_are_known() const;            ///< DPOTrainer, KTOTrainer and RewardTrainer
    bool bco_is_known() const;                     ///< BCOTrainer
    bool ppo_is_known() const;                     ///< PPOTrainer
    bool reference_is_like_policy() const;         ///< ... load the reference with the policy's dtype and attention
    bool trl_scores_by_kernel() const;             ///< log-probabilities of whole logits by a kernel of its own
    // ... of GRPOTrainer and RLOOTrainer
    bool completions_have_several_ends() const;    ///< those of the model's generation_config.json too
    bool grpo_shares_items_among_steps() const;    ///< tokens of a generation are divided by its steps
    bool grpo_weights_divergence() const;          ///< use_bias_correction_kl where nothing is said
    std::int64_t group_completion_tokens() const;  ///< max_completion_length where nothing is said
    bool luspo_masks_tokens() const;               ///< ... before they are added up
    bool vllm_client_packs_weights() const;        ///< of a server, in buffers; else it sends them one by one
    bool grpo_may_have_no_sampled_score() const;   ///< a log-probability of vLLM's may be NaN
    bool trl_leaves_magnitudes() const;            ///< of DoRA, where it casts adapters over packed weights

    // unsloth
    bool unsloth_is_known() const;               ///< its step was compared
    bool unsloth_scores_by_kernels() const;      ///< head and loss by kernels of its own, what is scored alone
    bool unsloth_drops_without_scratch() const;  ///< adapters with dropout unpack each weight into memory of its own
};

}  // namespace vramfit
