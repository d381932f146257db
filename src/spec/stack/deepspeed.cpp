// DeepSpeed: which releases are known, and in what they differ. Only these two were compared, so a question that tells
// them apart says nothing about the releases between them.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// 0.19.8 under transformers 5.17 and accelerate 1.15, 0.14.2 under transformers 4.40, accelerate 0.29 and torch 2.2; a
// stack that names no DeepSpeed means the one of its time.
bool Stack::zero_is_known() const {
    const bool named = !(deepspeed == Version{});
    if (zero_is_of_2024()) return true;
    return torch >= Version{2, 10, 0} && torch < Version{2, 12, 0} && transformers >= Version{5, 17, 0} &&
           transformers < Version{5, 18, 0} && (!named || deepspeed >= Version{0, 19, 8});
}

bool Stack::zero_is_of_2024() const {
    const bool named = !(deepspeed == Version{});
    return torch >= Version{2, 2, 0} && torch < Version{2, 3, 0} && transformers >= Version{4, 40, 0} &&
           transformers < Version{4, 41, 0} && accelerate >= Version{0, 29, 0} && accelerate < Version{0, 30, 0} &&
           (!named || deepspeed == Version{0, 14, 2});
}

// runtime/engine.py _configure_distributed_model: module.half(); later _cast_module_mixed_precision, parameters only.
bool Stack::deepspeed_casts_buffers() const { return zero_is_of_2024(); }

// runtime/constants.py GRADIENT_CLIPPING_DEFAULT: 0, later 1.
bool Stack::deepspeed_clips_by_default() const { return !zero_is_of_2024(); }

// runtime/engine.py backward: loss.mean().detach() is kept in `losses` until the step has returned.
bool Stack::deepspeed_keeps_losses() const { return zero_is_of_2024(); }

// runtime/zero/stage_1_and_2.py create_reduce_and_remove_grad_hooks: grad_acc.register_hook; later utils/torch.py
// register_grad_hook: register_post_accumulate_grad_hook.
bool Stack::deepspeed_hooks_nodes() const { return zero_is_of_2024(); }

// runtime/zero/stage_1_and_2.py __init__: param.cpu_data; since 0.19.0 where the card has no room for two copies.
bool Stack::zero2_flattens_in_host_memory() const { return zero_is_of_2024(); }

// runtime/zero/stage_1_and_2.py backward; later setup_buckets, at the first gradient.
bool Stack::zero2_fills_bucket_from_start() const { return zero_is_of_2024(); }

// runtime/zero/stage_1_and_2.py step: fp32_partition.to(device), and no copy of the partition when it is made (to
// 0.17).
bool Stack::zero2_updates_offloaded_on_device() const { return zero_is_of_2024(); }

// runtime/zero/stage_1_and_2.py _has_inf_or_nan: float(), isnan, isinf, float().max(), which the host reads.
bool Stack::zero2_widens_for_overflow() const { return zero_is_of_2024(); }

// runtime/zero/stage3.py _create_fp32_partitions: fp16_partitioned_groups_flat[i].clone().float(); later the other way.
bool Stack::zero3_clones_before_cast() const { return zero_is_of_2024(); }

// runtime/zero/partition_parameters.py _allgather_params: a flat tensor, out of which the parameter is copied; later
// _allgather_params_sequential gathers into the parameter's own memory.
bool Stack::zero3_copies_gathered_parameter() const { return zero_is_of_2024(); }

// runtime/zero/linear.py replaces torch.nn.functional.linear inside of zero.Init's context only (to 0.19.3).
bool Stack::zero3_replaces_linear_after_load() const { return !zero_is_of_2024(); }

// runtime/zero/partitioned_param_coordinator.py: the first pass is recorded at once, and reset_step follows the
// backward pass (stage3.py backward); later the second pass is recorded, and reset_step goes before the forward pass.
bool Stack::zero3_records_first_pass() const { return zero_is_of_2024(); }

// runtime/zero/utils.py assert_ints_same_as_other_ranks: their number is not compared before them.
bool Stack::zero3_compares_lengths() const { return !zero_is_of_2024(); }

// runtime/zero/stage3.py get_grad_norm_direct: inf_or_nan * err + inf_or_nan.logical_not() * total_norm, later where.
bool Stack::zero3_norm_is_selected() const { return !zero_is_of_2024(); }

}  // namespace vramfit
