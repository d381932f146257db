// torch's fully_shard around the network's modules, as accelerate's fsdp2_prepare_model puts it there.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/causal_lm/causal_lm.hpp"
#include "model/network/unit_hooks.hpp"
#include "model/parallel/fsdp2/adapters.hpp"
#include "model/parallel/fsdp2/group.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::model {

/// One group for each decoder layer, one for the embedding and one for the last norm and the head; where those two
/// share their weight, one for all three. With adapters the norm is the root's. axolotl has one for each layer and for
/// each matrix of an adapter.
class Fsdp2 final : public UnitHooks {
  public:
    /// Moves the network from host memory to the device and cuts it, group by group. The optimizer has been made.
    Fsdp2(const Run& run, Network& network, const Optimizer& optimizer);
    ~Fsdp2() override;
    Fsdp2(const Fsdp2&) = delete;
    Fsdp2& operator=(const Fsdp2&) = delete;

    /// The root's hooks around the model's forward. `output` is what the loss is made of; `outputs`, without those that
    /// are undefined, are cast.
    void before_forward(bool sync);
    void after_forward(const Tensor& output, std::span<Tensor* const> outputs);
    /// The model's forward. `sync`: not in no_sync, gradients are reduced in the backward that follows.
    Output forward(const Batch& batch, const Tensor& items, const Place& place, bool sync);

    /// accelerate's own wrapper is inside of the unit.
    bool around_checkpoints() const override;
    void before_embedding() override;
    void after_embedding(const Tensor& embedded) override;
    Tensor before_layer(std::size_t layer, const Tensor& hidden) override;
    void after_layer(std::size_t layer, const Tensor& hidden) override;
    Tensor before_norm(const Tensor& hidden) override;
    Tensor before_head(const Tensor& hidden) override;
    void after_head(const Tensor& logits) override;
    Tensor* held() override;
    bool casts_arguments() const override { return !layers_.empty(); }
    Tensor cast(const Tensor& given) override;
    Tensor head_weight(const Tensor& weight) override;

  private:
    void shard_all(const Optimizer& optimizer);
    void shard_as_axolotl(const Optimizer& optimizer);
    void finish_backward();
    void expect(const Tensor& output, Fsdp2Group& group);
    Fsdp2Group* of_embedding() const { return embedding_ ? embedding_.get() : tail_.get(); }
    Tensor enter(Fsdp2Group& group, const Tensor& hidden);

    const Run& run_;
    Network& network_;
    Fsdp2Comm comm_;
    std::unique_ptr<Fsdp2Group> embedding_;  ///< null: in the tail's or the root's
    std::vector<std::unique_ptr<Fsdp2Group>> layers_;
    Fsdp2Adapters adapters_;
    std::unique_ptr<Fsdp2Group> tail_;  ///< null: the root's
    std::unique_ptr<Fsdp2Group> root_;  ///< what no other has; null: nothing
    Norm* norm_in_tail_ = nullptr;      ///< null: it is the root's, or has no parameters
    bool enters_at_norm_ = false;       ///< the tail has a norm, with parameters or without
    bool in_tail_ = false;              ///< that norm has been called in this forward pass
    engine::Ref<engine::Node> held_;    ///< of the embedding's output, until a layer's node holds it
};

}  // namespace vramfit::model
