// torch's DistributedDataParallel around the network, as accelerate's prepare_model puts it there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// Whether gradients are put into other buckets once the first backward has shown their order.
bool rebuilds_buckets(const TrainPlan& plan);

/// Holds a bucket of gradients for each group of parameters. Lives as long as training does.
class Ddp {
  public:
    /// Compares shapes, broadcasts parameters and buffers, makes the buckets.
    Ddp(const Run& run, Network& network);
    ~Ddp();
    Ddp(const Ddp&) = delete;
    Ddp& operator=(const Ddp&) = delete;

    /// DistributedDataParallel._pre_forward. `sync`: not in no_sync, gradients are reduced in the backward that
    /// follows.
    void before_forward(bool sync);

    /// _post_forward on the tensors of the network's output.
    void after_forward(std::span<Tensor* const> outputs) const;

  private:
    bool sinks() const;
    bool shows_order() const;
    void make_buckets(const std::vector<std::vector<std::size_t>>& places);
    void rebuild();
    void on_gradient(const Tensor& leaf);

    const Run& run_;
    const Network& network_;
    std::vector<Tensor> parameters_;  ///< that are trained, in the order of modules
    std::vector<Tensor> buffers_;     ///< modules_buffers: held though a forward pass puts others in their places
    bool finds_unused_ = false;
    bool static_ = false;
    bool rebuilds_ = false;  ///< once a backward has shown the order in which gradients are ready
    bool ran_backward_ = false;
    int reductions_ = 0;  ///< forward passes whose backward reduces, the one that runs included
    bool syncs_buffers_ = true;
    bool expects_gradients_ = false;
    std::vector<Tensor> ready_;  ///< parameters of the first backward in that order

    std::vector<Tensor> buckets_;
    Tensor used_;  ///< which parameters took part, if unused ones are looked for
};

}  // namespace vramfit::model
