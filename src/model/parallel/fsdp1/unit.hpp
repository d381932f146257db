// torch's FullyShardedDataParallel: one module whose parameters are gathered as one flat vector.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "engine/streams.hpp"
#include "model/parallel/fsdp2/group.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit::model {

class Fsdp1Unit;

/// _init_streams (torch 2.11 distributed/fsdp/_runtime_utils.py); the default stream computes.
struct Fsdp1Streams {
    static constexpr std::uint8_t kUnshard = 1;
    static constexpr std::uint8_t kPostBackward = 2;
    static constexpr std::uint8_t kPreUnshard = 3;
    static constexpr std::uint8_t kAllReduce = 4;  ///< of hybrid strategies
};

/// What _share_state_and_init_handle_attrs (torch 2.11 distributed/fsdp/_runtime_utils.py) gives all units of a root.
struct Fsdp1Shared {
    engine::Session& session;
    std::int64_t world = 2;              ///< processes that a vector is cut over
    std::int64_t rank = 0;               ///< among them
    std::optional<DType> compute_dtype;  ///< MixedPrecision.param_dtype, which is its reduce_dtype and buffer_dtype too
    Fsdp1Plan plan;
    bool reduces = true;  ///< _sync_gradients: not in no_sync

    std::deque<engine::StreamClock> free_events;  ///< _FreeEventQueue
    std::vector<Fsdp1Unit*> pre_forward_order;    ///< _ExecOrderData.handles_pre_forward_order
    std::vector<Fsdp1Unit*> post_forward_order;   ///< .handles_post_forward_order
    bool is_first_iteration = true;               ///< .is_first_iter: until a backward pass is over
};

/// FlatParamHandle with the original parameters kept for the optimizer, and the hooks around its module.
/// A gathered vector is taken in the stream that gathers, and given back in the one that is current when it is freed.
class Fsdp1Unit {
  public:
    /// `parameters` are on the device, in the order of the module tree. From now on their places hold this rank's part.
    /// A root may have none: only its hooks are there.
    Fsdp1Unit(Fsdp1Shared& shared, const std::vector<ParameterPlaces>& parameters, bool is_root);
    Fsdp1Unit(const Fsdp1Unit&) = delete;
    Fsdp1Unit& operator=(const Fsdp1Unit&) = delete;

    /// accelerate's prepare_model: what is trained becomes float32. The 16-bit part lives in the original parameters
    /// until they are next made views of this rank's part.
    void upcast();
    /// init_flat_param_attributes: buffers that are taken once and given back at once.
    void make_buffers();

    /// _root_pre_forward, of all units.
    void begin_forward();
    void pre_forward();
    void post_forward();
    /// _register_pre_backward_hooks.
    void expect_backward(const engine::Tensor& output);
    /// _register_post_backward_reshard_only_hook: a unit without gradients is left once its input has its own.
    void leave_with(const engine::Tensor& input);
    /// The hook of the flat parameter's AccumulateGrad node.
    void post_backward();
    /// _post_backward_final_callback, as far as it is about this unit.
    void finish_backward();
    /// _reset_flat_param_grad_info_if_needed: after Optimizer.zero_grad the flat gradient goes too.
    void forget_gradient();

    /// The leaf that collects the gradient.
    const engine::Tensor& flat() const { return flat_; }
    bool has_parameters() const { return !parameters_.empty(); }
    /// The gradients of this rank's parts, in the order of the parameters.
    void append_gradients(std::vector<engine::Tensor>& gradients) const;
    /// The same as the optimizer's, where it has flat parameters.
    engine::Tensor& flat() { return flat_; }
    /// Called before the first backward hook of the root.
    std::function<void()> on_first_backward;

  private:
    struct Parameter {
        ParameterPlaces places;
        engine::Dims sizes;
        std::int64_t in_part = 0;  ///< elements on this rank
        engine::Tensor original;   ///< what the optimizer holds: a view of this rank's part
        engine::Tensor view;       ///< what modules compute with
    };

    void flatten(const std::vector<ParameterPlaces>& parameters);
    void pre_backward();
    bool is_mixed() const { return shared_.compute_dtype && *shared_.compute_dtype != part_.dtype(); }
    DType whole_dtype() const { return shared_.compute_dtype.value_or(part_.dtype()); }
    void unshard(bool forward);
    void use_whole(bool forward);
    void use_part();
    void count_views();
    void use_moved(const engine::Tensor& part);
    void reshard(bool free, bool after_forward = false);
    void prefetch_backward();
    void prefetch_forward();
    void post_backward_reshard();
    bool is_cut() const { return shared_.plan.sharding_strategy != FsdpStrategy::no_shard; }
    bool keeps_whole() const { return keeps_gathered(shared_.plan.sharding_strategy); }
    bool frees_in_backward() const { return is_cut() && (shared_.reduces || !keeps_whole()); }
    const engine::Tensor& computed() const { return is_cut() ? whole_ : is_mixed() ? cast_ : part_; }
    void keep_gradient();
    void reduce();
    void reduce_uncut();
    void share_gradient(const engine::Tensor& gradient);
    void offload(const engine::Tensor& gradient);

    Fsdp1Shared& shared_;
    bool is_root_;
    std::vector<Parameter> parameters_;
    std::vector<Size> numels_;        ///< with padding
    std::vector<bool> is_padding_;    ///< of these
    engine::Tensor flat_;             ///< FlatParameter
    engine::Tensor part_;             ///< _local_shard; of NO_SHARD the whole
    engine::Tensor cast_;             ///< _mp_shard; of NO_SHARD what computes
    engine::Tensor whole_;            ///< _full_param_padded
    engine::Tensor saved_gradient_;   ///< _saved_grad_shard
    engine::Ref<engine::Node> held_;  ///< of an input that is a leaf, until a graph holds it
    std::optional<std::size_t> pre_forward_index_, post_forward_index_;
    bool is_whole_ = false;         ///< the gathered vector has memory
    bool uses_whole_ = false;       ///< the parameters are views of it
    bool skipped_part_ = false;     ///< _skipped_use_sharded_views: they still are after the forward
    bool is_prefetched_ = false;    ///< _prefetched
    bool needs_whole_ = false;      ///< _needs_pre_backward_unshard
    bool awaits_forward_ = false;   ///< _needs_pre_forward_unshard
    bool ran_backward_ = false;     ///< _ran_pre_backward_hook
    bool in_backward_ = false;      ///< HandleTrainingState.BACKWARD_PRE
    bool left_registered_ = false;  ///< _post_backward_hook_state of a unit without gradients
};

}  // namespace vramfit::model
