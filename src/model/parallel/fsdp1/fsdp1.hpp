// torch's FullyShardedDataParallel around the network's modules, as accelerate's prepare_model puts it there.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/module_hooks.hpp"
#include "model/causal_lm/causal_lm.hpp"
#include "model/network/called.hpp"
#include "model/network/unit_hooks.hpp"
#include "model/parallel/fsdp1/unit.hpp"
#include "model/step/optimizer.hpp"
#include "spec/network/model.hpp"

namespace vramfit::model {

class UnitParameters;

/// One unit for each decoder layer, or for what its size makes one, and one, the root's, for all that no other has.
/// With adapters each of their matrices is a unit of its own inside of those, and so is a module that peft trains as a
/// whole.
class Fsdp1 final : public UnitHooks, public engine::ModuleHooks {
  public:
    /// Moves the network from host memory to the device and cuts it, unit by unit.
    Fsdp1(const Run& run, Network& network);
    ~Fsdp1() override;
    Fsdp1(const Fsdp1&) = delete;
    Fsdp1& operator=(const Fsdp1&) = delete;

    /// FullyShardedDataParallel.forward of the root, around what it calls. `sync`: as of `forward`. `output` is what
    /// the loss is made of.
    void before_forward(bool sync);
    void after_forward(const Tensor& output);
    /// The same around the model with its own loss. `sync`: not in no_sync, gradients are reduced in the backward that
    /// follows.
    Output forward(const Batch& batch, const Tensor& items, const Place& place, bool sync);
    /// use_orig_params.
    bool keeps_parameters() const { return shared_.plan.use_orig_params; }
    /// Trainer.create_optimizer's groups where the optimizer has flat parameters; otherwise those of the network.
    std::vector<ParameterGroup> flat_groups();
    /// FullyShardedDataParallel.clip_grad_norm_.
    Tensor clip_gradients();

    bool around_checkpoints() const override;
    void before_embedding() override {}
    void after_embedding(const Tensor&) override {}
    Tensor before_layer(std::size_t layer, const Tensor& hidden) override;
    void after_layer(std::size_t layer, const Tensor& hidden) override;
    Tensor before_norm(const Tensor& hidden) override;
    Tensor before_head(const Tensor& hidden) override { return hidden; }
    void after_head(const Tensor&) override {}

    Tensor before(const engine::ModuleKey& module, const Tensor& input) override;
    void after_all(const engine::ModuleKey& module, std::span<Tensor* const> outputs) override;
    void read(const Tensor&) override {}
    Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) override;

  private:
    /// Buffers of a unit.
    struct Buffers {
        std::optional<std::size_t> layer = {};
        engine::Tensor* scale = nullptr;  ///< of the embedding
        bool rotary = false;              ///< of the decoder
        bool others = false;              ///< of a recorded network: all that no layer has
    };
    std::unique_ptr<Fsdp1Unit> wrap(const std::vector<ParameterPlaces>& parameters,
                                    const std::vector<ParameterPlaces>& to_move, const Buffers& buffers, bool is_root);
    std::vector<Tensor> layer_buffers(std::size_t layer) const;
    void move_buffers(const Buffers& buffers);
    std::vector<Tensor*> recorded_buffers(const Buffers& buffers) const;
    void wrap_alone(const void* module, Part part, std::initializer_list<engine::Tensor*> tensors);
    void add_norm(Norm& module, int depth, UnitParameters& parameters);
    void add_linear(Linear& module, int depth, UnitParameters& parameters);
    void add_embedding(Embedding& module, int depth, UnitParameters& parameters);
    void add_bare(BareModule& module, int depth, UnitParameters& parameters);
    /// A module of the network: `of` is the unit's path.
    template <class Module>
    void add_module(Module& module, std::string_view of, UnitParameters& parameters);
    void add_layer(std::size_t layer, std::string_view of, UnitParameters& parameters);
    std::string path_of_layer(std::size_t layer) const;
    WrapPolicy wrap_policy() const;
    void wrap_layer(std::size_t layer);
    void wrap_all();
    void wrap_by_size();
    void set_root(const UnitParameters& parameters, const Buffers& buffers);
    engine::Tensor& scale();
    void initialise();
    Tensor clip_uncut_gradients();
    void forget_gradients();
    void finish_backward();

    const Run& run_;
    Network& network_;
    std::vector<network::Buffer> all_buffers_;  ///< of a recorded network
    Fsdp1Shared shared_;
    std::unique_ptr<Fsdp1Unit> root_;
    std::vector<std::unique_ptr<Fsdp1Unit>> layers_;                  ///< empty, or null where a layer is none
    std::map<engine::ModuleKey, std::unique_ptr<Fsdp1Unit>> single_;  ///< modules that are units by themselves
    std::vector<Fsdp1Unit*> all_;                                     ///< in the order of the module tree
    bool is_initialised_ = false;                                     ///< _lazy_init
    Tensor zero_;                                                     ///< _zero_scalar
};

}  // namespace vramfit::model
