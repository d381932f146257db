// Gradients of ZeRO-1 and 2 on their way through the buckets to the partition of this rank.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "engine/streams.hpp"
#include "model/parallel/zero/groups.hpp"

namespace vramfit::model {

/// deepspeed 0.19.8 runtime/zero/stage_1_and_2.py DeepSpeedZeroOptimizer, between backward hooks and step.
class ZeroBuckets {
  public:
    ZeroBuckets(const Run& run, std::span<const ZeroGroup> groups);

    /// backward_prologue: whether gradients are complete with the coming backward.
    void set_boundary(bool boundary) { boundary_ = boundary; }

    /// DeepSpeedZeroOptimizer.backward of 0.14: the bucket is made first.
    void begin_backward();

    /// process_gradients: the hook behind a gradient.
    void on_gradient(const Tensor& leaf);

    /// DeepSpeedEngine._backward_epilogue: allreduce_gradients.
    void epilogue();

    /// averaged_gradients of a group: pieces of this rank's partition, the last one may be padding.
    std::vector<Tensor>& averaged(std::size_t group) { return averaged_[group]; }
    /// Of a group, without the padding.
    std::span<const Tensor> averaged_parameters(std::size_t group) const;

    /// The beginning of step: a new accumulation, and the host waits for the copies of the last one.
    void begin_accumulation();
    /// free_grad_in_param_list.
    void free_gradients(std::size_t group);
    /// reset_cpu_buffers: norms that were computed during backward.
    void drop_norms() { norms_.clear(); }

    /// What was freed since the end of the backward waits for no stream: nothing was launched there since then.
    void let_go();

    /// The largest trained parameter's elements: temp_grad_buffer_for_gpu_offload.
    std::int64_t largest() const { return largest_; }

  private:
    /// A parameter by group and place.
    struct Place {
        std::size_t group = 0;
        std::size_t index = 0;
    };

    const ZeroParameter& at(const Place& place) const { return groups_[place.group].parameters[place.index]; }
    std::uint8_t reduction_stream() const { return overlaps_ ? kReduction : std::uint8_t{0}; }
    void set_up();
    Tensor gradient_of(const Place& place) const;
    void clear(const Place& place);
    void widen(const Place& place);
    Tensor wide_partition(std::size_t group);
    void add(const Place& place);
    void copy_into_bucket(const Place& place);
    void reduce();
    void average(const Tensor& bucket);
    void reduce_slices(const Tensor& bucket, std::int64_t most);
    void all_reduce(const Tensor& bucket, std::span<const OwnedPart> slices);
    void reduce_apart();
    void hand_over(const Place& place);
    void copy_to_partition(const Place& place);
    void offload(const Place& place);
    void collect(std::size_t group);
    void release();

    static constexpr std::uint8_t kReduction = 1;  ///< reduction_stream

    const Run& run_;
    std::span<const ZeroGroup> groups_;
    std::unordered_map<const engine::TensorImpl*, Place> places_;
    std::int64_t rank_ = 0;
    DType dtype_{};         ///< of the trained parameters
    DType buffer_dtype_{};  ///< _gradient_reduction_buffer_dtype
    bool widens_ = false;   ///< they are narrower than what gradients are added up in
    std::int64_t bucket_size_ = 0;
    std::int64_t largest_ = 0;
    bool splits_gradients_ = false;  ///< stage 2
    bool overlaps_ = false;
    bool contiguous_ = true;
    bool scatters_ = true;
    bool offloads_ = false;

    bool boundary_ = true;
    bool ready_ = false;  ///< ready_for_gradients
    std::int64_t micro_step_ = -1;
    std::vector<Tensor> buffers_;
    std::size_t buffer_ = 0;
    std::vector<Place> bucket_;  ///< what the bucket holds
    std::int64_t elements_ = 0;
    bool oversized_ = false;                     ///< it is one parameter larger than the bucket
    std::vector<Place> cleared_;                 ///< previous_reduced_grads
    Tensor partition_;                           ///< grads_in_partition
    std::vector<std::vector<Tensor>> all_;       ///< all_grad_tensors
    std::vector<std::vector<Tensor>> averaged_;  ///< averaged_gradients
    std::vector<std::vector<Tensor>> wide_;      ///< grad_accum of stage 1, where gradients are widened
    std::vector<Tensor> norms_;                  ///< norm_for_param_grads
    engine::StreamClock copied_ = {};            ///< _pending_offload_events
};

}  // namespace vramfit::model
