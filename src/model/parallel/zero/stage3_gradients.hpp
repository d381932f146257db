// Gradients of ZeRO-3 on their way to the pieces of this process.
#pragma once

#include <vector>

#include "model/network/partitions.hpp"
#include "model/parallel/zero/under_way.hpp"

namespace vramfit::model {

/// deepspeed 0.19.8 runtime/zero/stage3.py DeepSpeedZeroOptimizer_Stage3: the bucket between backward hooks and step.
class Stage3Gradients {
  public:
    Stage3Gradients(const Run& run, Partitions& partitions);

    /// The rest of _setup_for_real_optimizer: the bucket, and a piece for each of the trained parameters.
    void set_up(const std::vector<std::size_t>& trained);

    /// reduce_independent_p_g_buckets_and_remove_grads: the hook behind a gradient.
    void on_gradient(std::size_t id);
    /// independent_gradient_partition_epilogue.
    void epilogue();
    /// is_gradient_accumulation_boundary.
    void set_boundary(bool boundary) { boundary_ = boundary; }
    /// clear_backward_seen_flag at the next forward: whether pieces are added to what is there.
    void next_micro_step() { ++micro_step_; }
    /// DeepSpeedZeroOptimizer_Stage3.has_overflow with float16 gradients.
    void check_overflow();
    /// _pre_step.
    void begin_step() { micro_step_ = 0; }

    /// averaged_gradients: the piece of a parameter's gradient.
    Tensor averaged(std::size_t id) const;
    /// norm_for_param_grads by parameter; undefined where a gradient has none.
    const std::vector<Tensor>& norms() const { return norms_; }
    /// reset_cpu_buffers.
    void drop_norms() { norms_.assign(norms_.size(), {}); }

  private:
    void reduce();
    bool reduces_buffer() const;
    void reduce_buffer();
    void scatter_gradients();
    Tensor scattered(const std::vector<std::size_t>& ids, std::vector<Tensor>& kept);
    void hand_over_all(bool padded);
    void hand_over(std::size_t id, bool padded);
    std::int64_t filled(std::size_t id, std::int64_t rank) const;
    void offload(std::size_t id, const Tensor& piece);

    const Run& run_;
    Partitions& partitions_;
    std::uint8_t stream_ = 0;  ///< reduce_and_partition_stream
    std::int64_t bucket_size_ = 0;
    bool contiguous_ = true;
    bool scatters_ = true;
    bool offloads_ = false;
    bool boundary_ = true;
    int micro_step_ = 0;
    Tensor buffer_;              ///< of the bucket
    Tensor flat_;                ///< grad_partitions_flat_buffer
    std::vector<Tensor> norms_;  ///< by parameter
    std::vector<std::size_t> bucket_;
    std::int64_t elements_ = 0;
    UnderWay reductions_;  ///< param_reduce_events
};

}  // namespace vramfit::model
