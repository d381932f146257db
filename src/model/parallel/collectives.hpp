// What collective operations allocate in one process: torch 2.11 csrc/distributed/c10d.
#pragma once

#include <span>
#include <vector>

#include "engine/tensor.hpp"

namespace vramfit::model {

/// compute_bucket_assignment_by_size (reducer.cpp): places of `tensors`, cut where a bucket of one dtype has reached
/// its limit in bytes; the last limit counts for all further ones. `by_place`: sorted by their smallest place.
std::vector<std::vector<std::size_t>> assign_buckets(std::span<const engine::Tensor> tensors,
                                                     std::span<const std::int64_t> limits, bool by_place);

/// broadcast_coalesced (comm.hpp): flat copies of buckets, two in flight.
void broadcast_coalesced(engine::Session& session, std::span<const engine::Tensor> tensors, std::int64_t bucket_bytes);

/// A gather or a reduction into given tensors that the current stream waits for. A group with a stream of its own runs
/// it there, behind all that the group did before.
void run_collective(engine::Session& session);

/// all_reduce, waited for.
void all_reduce(const engine::Tensor& t);

/// torch.distributed.barrier (ProcessGroupNCCL.cpp). `held`: what the group holds until the next one.
void barrier(engine::Session& session, engine::Tensor& held);

/// accelerate utils/operations.py _gpu_gather_one of a tensor without dimensions: -> [world].
engine::Tensor gather_scalar(const engine::Tensor& scalar, std::int64_t world);

/// transformers trainer_pt_utils.py distributed_broadcast_scalars of one number, summed.
void sum_over_ranks(engine::Session& session, std::int64_t world);

/// all_gather_object (distributed_c10d.py) of a group without a backend of the host: pickled bytes through the device.
void gather_object(engine::Session& session, std::int64_t bytes, std::int64_t world);

/// verify_params_across_processes (reducer.cpp).
void compare_shapes(engine::Session& session, std::span<const engine::Tensor> parameters, std::int64_t world);

}  // namespace vramfit::model
