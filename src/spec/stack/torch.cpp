// What changed between versions of PyTorch.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// pytorch#109876 of September 2023: the formula of mean named `self` where only its sizes are needed; the generator
// knows sym_numel from 2.2 on (tools/autograd/load_derivatives.py).
bool Stack::mean_saves_its_input() const { return torch < Version{2, 2, 0}; }

// ATen/cuda/CublasHandlePool.cpp parseChosenWorkspaceSize: 9.0; from 2.12 on also 9.x, 10.x and 12.x (pull request
// 175344).
bool Stack::cublas_workspace_is_32_mib(const Capability& on) const {
    if (torch < Version{2, 12, 0}) return on == Capability{9, 0};
    return on.major == 9 || on.major == 10 || on.major == 12;
}

// ATen/native/transformers/cuda/sdp_utils.cpp and attention.cu: keys and values of fewer heads, and seed and offset on
// the device without dropout too; traced with 2.14 and 2.15, not with 2.13.
bool Stack::efficient_attention_groups_heads() const { return torch >= Version{2, 14, 0}; }
bool Stack::efficient_attention_keeps_its_seed() const { return torch >= Version{2, 14, 0}; }

// ATen/native/Distributions.cpp multinomial: traced with 2.13 and 2.15; of 2.11 two reductions.
bool Stack::multinomial_asks_aminmax() const { return torch >= Version{2, 13, 0}; }

// ATen/native/cuda/ForeachReduceOp.cu foreach_tensor_norm_cuda: traced with 2.15, not with 2.14.
bool Stack::foreach_norms_pack_chunks() const { return torch >= Version{2, 15, 0}; }

// torch/_native/ops/bmm_outer_product: there in 2.13, not in 2.11.
bool Stack::outer_products_are_native() const { return torch >= Version{2, 13, 0}; }

// ATen/cuda/CublasHandlePool.cpp: traced with 2.15, where each call takes and gives back its workspace; up to 2.13 one
// for each handle and stream.
bool Stack::cublas_workspace_stays() const { return torch < Version{2, 15, 0}; }

// ATen/cuda/CUDABlas.cpp: up to 2.8 a temporary of each call, from 2.9 one for each handle and stream (pull request
// 156495).
bool Stack::cublaslt_workspace_stays() const { return torch >= Version{2, 9, 0}; }

// ATen/cuda/CUDABlas.cpp: one of its own up to 2.11; in 2.12 to 2.14 that of cuBLAS; in 2.15 one of its own for each
// call.
bool Stack::cublaslt_shares_its_workspace() const { return torch >= Version{2, 12, 0} && torch < Version{2, 15, 0}; }

// ATen/native/cuda/Blas.cpp isInputCompliesAddmmCudaLt: traced with 2.11 and 2.15.
bool Stack::addmm_takes_one_row_for_a_bias() const { return torch >= Version{2, 11, 0}; }

// ATen/cuda/CUDABlas.cpp of 2.11 shares cuBLAS' limit (pull request 168175): traced with 9000 and 32768 KiB, and with
// CUBLAS_WORKSPACE_CONFIG=:16:8, which makes the usual 1 MiB smaller. 2.10 takes what is asked for.
bool Stack::cublaslt_workspace_is_limited() const { return torch >= Version{2, 11, 0}; }

// nn/parallel/distributed.py and csrc/distributed/c10d of 2.3, 2.5, 2.7, 2.10 and 2.11, with Trainer of 4.44 to 5.17;
// earlier releases have not been compared.
bool Stack::ddp_is_known() const { return torch >= Version{2, 3, 0} && transformers >= Version{4, 43, 0}; }

// trl's SFTTrainer gathers its counts: compared with 2.11 and, without a process group that records streams, 2.10.
bool Stack::sft_of_processes_is_known() const { return torch >= Version{2, 10, 0}; }

// csrc/distributed/c10d/ProcessGroupNCCL.cpp collective: TORCH_NCCL_AVOID_RECORD_STREAMS is on from 2.8, which also
// runs what is waited for on the current stream (pull request 148590); before, on the communicator's own.
bool Stack::collectives_record_streams() const { return torch < Version{2, 8, 0}; }

// distributed/fsdp of 2.3, 2.5, 2.7 and 2.11, with accelerate of 0.33 to 1.15 and Trainer of 4.44 to 5.17; runs
// with 2.4 and 4.43 were measured (docs/accuracy.md). Later releases of torch have not been compared.
bool Stack::fsdp1_is_known() const {
    return torch >= Version{2, 3, 0} && torch < Version{2, 12, 0} && accelerate >= Version{0, 33, 0} &&
           transformers >= Version{4, 43, 0};
}

// distributed/fsdp/fully_sharded_data_parallel.py clip_grad_norm_: _zero_scalar in 2.5; in 2.3.1 and 2.4.1
// torch.tensor(0.0), on the device, for the gradients that are not cut.
bool Stack::fsdp1_clips_by_a_kept_zero() const { return torch >= Version{2, 5, 0}; }

// distributed/fsdp of 2.11, as accelerate 1.15 (units of embedding and head; 1.13 has none) and Trainer of 5.17 use it.
bool Stack::fsdp2_is_known() const {
    return torch >= Version{2, 11, 0} && torch < Version{2, 12, 0} && accelerate >= Version{1, 15, 0} &&
           transformers >= Version{5, 17, 0} && transformers < Version{5, 18, 0};
}

// distributed/tensor of 2.11, as distributed/tensor_parallel.py of transformers 5.17 uses it.
bool Stack::tensor_parallelism_is_known() const { return fsdp2_is_known(); }

// Settings of the caching allocator, by the release that first had them (c10/cuda/CUDAAllocatorConfig.h; from 2.9 on
// also c10/core/AllocatorConfig.h).
bool Stack::allocator_knows_non_split_rounding() const { return torch >= Version{2, 6, 0}; }
bool Stack::allocator_knows_memory_fraction() const { return torch >= Version{2, 10, 0}; }
bool Stack::allocator_knows_large_segment_size() const { return torch >= Version{2, 11, 0}; }
bool Stack::allocator_knows_throw_on_device_oom() const { return torch >= Version{2, 12, 0}; }

// c10/cuda/CUDACachingAllocator.cpp, BlockComparatorSize: ties go to the lower address up to 2.11; by creation of the
// block in 2.12 (pull request 178362), taken back (183489); by creation of the segment (183591), traced with 2.13.
bool Stack::allocator_orders_blocks_by_creation() const {
    return torch >= Version{2, 12, 0} && torch < Version{2, 13, 0};
}
bool Stack::allocator_orders_segments_by_creation() const { return torch >= Version{2, 13, 0}; }

// flash_attn/flash_api.cpp mha_fwd: scalars in host memory in eager mode up to 2.6 (traced: 2.2 and 2.11).
bool Stack::flash_attention_keeps_its_state_on_device() const { return torch >= Version{2, 7, 0}; }

// ATen/native/transformers/attention.cpp _scaled_dot_product_attention_math: in the input's dtype and with a
// plain softmax up to 2.4.
bool Stack::math_attention_upcasts() const { return torch >= Version{2, 5, 0}; }
bool Stack::math_attention_softmax_is_safe() const { return torch >= Version{2, 5, 0}; }

// ATen/native/transformers/attention.cpp _safe_softmax: where(masked_rows, zero, out) in 2.5, into `out` itself since
// 2.6 (operators listed: 2.5.1 and 2.6.0).
bool Stack::safe_softmax_selects() const { return torch < Version{2, 6, 0}; }

// ATen/native/transformers/cuda/sdp_utils.cpp check_flash_attention_hardware_support: up to 9.0, from 2.7 on to 12.1.
bool Stack::flash_attention_runs_beyond_hopper() const { return torch >= Version{2, 7, 0}; }

// sdp_utils.cpp: check_requires_grad_and_head_dim_gt192_and_sm_ge86_lt90 in 2.2.2 refuses all, the check called
// ..._gt192_constraints_on_sm86_89 since 2.3 not the largest (symbols of libtorch_cuda.so 2.2.2, 2.3.1, 2.5.1).
bool Stack::flash_attention_trains_largest_heads() const { return torch >= Version{2, 3, 0}; }

// flash_attn/flash_api.cpp head_size_rounded (traced: 2.2.2 and 2.11).
bool Stack::flash_attention_rounds_large_heads() const { return torch >= Version{2, 6, 0}; }

// mem_eff_attention/kernel_backward.h workspace_elements_gk: num_splits_key * align_up(num_keys, kBlockSizeJ) * ...,
// later num_splits_key * kBlockSizeJ * ... (traced: 2.2.2, 2.3.1 and 2.11).
bool Stack::efficient_attention_accumulates_all_keys() const { return torch < Version{2, 4, 0}; }

// ATen/native/transformers/attention.cpp convert_boolean_attn_mask: where(attn_mask.logical_not(), -inf, 0) in 2.5
// (operators listed: 2.5.1 and 2.6.0).
bool Stack::attention_inverts_boolean_masks() const { return torch >= Version{2, 5, 0} && torch < Version{2, 6, 0}; }

// ATen/native/transformers/attention.cpp convert_boolean_attn_mask (traced: 2.2.2 and 2.11).
bool Stack::attention_fills_boolean_masks() const { return torch < Version{2, 5, 0}; }

// sdp_utils.cpp can_use_cudnn_attention: with a mask and a backward pass from 2.5 on.
bool Stack::has_cudnn_attention() const { return torch >= Version{2, 5, 0}; }

// sdp_utils.cpp check_prefer_cudnn_attention: on in 2.5.0, off in 2.5.1, on again behind cuDNN 9.15.1, which wheels of
// 2.11 bring (9.19) and those of 2.10 do not (9.10).
bool Stack::prefers_cudnn_attention() const {
    return (torch >= Version{2, 5, 0} && torch < Version{2, 5, 1}) || torch >= Version{2, 11, 0};
}

// ATen/native/cuda/layer_norm_kernel.cu LaunchGammaBetaBackwardCUDAKernel, pull request 148605 of 2025.
bool Stack::layer_norm_sums_in_blocks() const { return torch >= Version{2, 8, 0}; }

// cub comes with the CUDA toolkit that the wheel is built with: 12.1 (cub 2.0) with torch 2.2, 13.0 (cub 3.0)
// with 2.11.
bool Stack::cub_is_3() const { return torch >= Version{2, 11, 0}; }

// torch/csrc/autograd/python_variable_indexing.cpp applySlicing: up to 2.8 a slice of every `:`, later only where
// something is cut (x[:, :] asked for its grad_fn: a slice of a slice in 2.8.0, an alias in 2.9.0).
bool Stack::whole_slices_are_nodes() const { return torch < Version{2, 9, 0}; }

// amp/grad_scaler.py GradScaler.step: `None if ... else scaler` in 2.2, `scaler * getattr(optimizer, ...)` in 2.11.
bool Stack::grad_scale_is_multiplied() const { return torch >= Version{2, 3, 0}; }

// ATen/native/cuda/ForeachReduceOp.cu foreach_tensor_norm_cuda: in 2.2 one tensor and its views, in 2.11 one for each.
bool Stack::foreach_norms_share_storage() const { return torch < Version{2, 3, 0}; }

// ATen/native/ForeachUtils.h: the order of a std::unordered_map; in 2.2.2 and 2.3.1 that of insertion, from 2.5.1 on
// the reverse (asked of each; 2.4 was not).
bool Stack::foreach_groups_backwards() const { return torch >= Version{2, 4, 0}; }

// nn/utils/clip_grad.py: one function in 2.2; get_total_norm and clip_grads_with_norm_ came with 2.6.
bool Stack::clip_keeps_norms() const { return torch < Version{2, 6, 0}; }

}  // namespace vramfit
