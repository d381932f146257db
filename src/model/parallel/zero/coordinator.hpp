// When ZeRO-3 gathers parameters and when it lets them go.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "engine/module_hooks.hpp"
#include "engine/streams.hpp"
#include "model/network/partitions.hpp"
#include "model/parallel/zero/under_way.hpp"
#include "vramfit/spec/zero_plan.hpp"

namespace vramfit::model {

/// __allgather_stream of what is trained, and of a network beside it. 3 is NCCL's own.
inline constexpr std::uint8_t kAllGather = 2;
inline constexpr std::uint8_t kAllGatherOfReference = 4;

/// deepspeed 0.19.8 runtime/zero/partitioned_param_coordinator.py PartitionedParameterCoordinator: the first pass is
/// recorded, the next ones gather ahead by that record.
class Coordinator {
  public:
    /// `prefetch`: prefetch_bucket_size in elements.
    /// `stream`: what it gathers on, unless the plan says that nothing overlaps.
    Coordinator(engine::Session& session, Partitions& partitions, const ZeroPlan& plan, std::int64_t prefetch,
                std::uint8_t stream = kAllGather);

    /// The parameters of a module; those of modules that are not named have none.
    void set_parameters(const engine::ModuleKey& key, std::vector<std::size_t> ids);
    /// ZeROOrderedDict.__getitem__: what is not there is gathered, and belongs to the innermost running module too from
    /// now on (register_external_parameter).
    void read(const std::vector<std::size_t>& running, const Tensor& parameter);
    std::size_t module_at(const engine::ModuleKey& key);
    const std::vector<std::size_t>& parameters(const engine::ModuleKey& key) {
        return modules_[module_at(key)].parameters;
    }
    /// z3_leaf_module: it is gathered with all that is in it.
    void set_leaf(std::size_t module) { modules_[module].is_leaf = true; }
    /// All parameters in a module that has others in it.
    void set_inside(std::size_t module, std::vector<std::size_t> ids) { modules_[module].inside = std::move(ids); }

    /// reset_step, before each forward pass (0.14: after each backward pass).
    void reset_step();
    /// _invalidate_trace, unless it is: the next pass but one is recorded.
    void invalidate();
    /// trace_prologue, record_module, fetch_sub_module.
    void fetch(std::size_t module, bool forward);
    /// release_sub_module.
    void release(std::size_t module, bool forward);
    /// release_backward_leftovers.
    void release_leftovers();
    /// release_and_reset_all: parameters in the order of the modules.
    void release_all(const std::vector<std::size_t>& ids);

  private:
    using Status = PartitionedParameter::Status;
    enum class Mode : std::uint8_t { record, complete, invalid };

    struct Module {
        std::vector<std::size_t> parameters;
        std::vector<std::size_t> inside;  ///< of the modules in it as well; empty: the same
        bool is_leaf = false;
        std::set<std::size_t> recomputed;  ///< ds_recompute_parameters
    };
    /// AllGatherHandle, AllGatherCoalescedHandle.
    struct Handle {
        std::vector<std::size_t> ids;
        std::vector<std::pair<std::vector<std::size_t>, Tensor>> flats;  ///< of several, those of each dtype
        std::vector<Tensor> pieces;  ///< what the collective reads, kept until it is waited for
        engine::StreamClock done = {};
        bool complete = false;
    };
    /// __ParamInTrace.
    struct Use {
        std::size_t parameter = 0;
        std::int64_t step = 0;
    };

    std::shared_ptr<Handle> in_flight(std::size_t id) const;
    void gather(const std::vector<std::size_t>& ids);
    void wait(Handle& handle);
    void finish(std::size_t id);
    void wait_for(std::size_t id);
    std::vector<std::size_t> in_order_of_waiting(std::vector<std::size_t> ids) const;
    void check_trace(std::size_t module);
    void drop_in_flight();
    void compare_with_other_ranks(std::size_t count);
    void take_from_queue(const std::vector<std::size_t>& wanted);
    void prefetch();
    static const std::vector<std::size_t>& seen_from(const Module& released, const Module& next);
    std::set<std::size_t>& to_release(std::size_t module);
    void release_parameter(std::size_t id);

    engine::Session& session_;
    Partitions& partitions_;
    std::uint8_t stream_ = 0;  ///< allgather_stream
    std::int64_t prefetch_ = 0;
    std::int64_t most_live_ = 0;
    std::int64_t most_reuse_ = 0;

    std::vector<Module> modules_;
    std::map<engine::ModuleKey, std::size_t> by_key_;
    Mode mode_;
    std::int64_t step_ = 0;
    std::int64_t live_ = 0;           ///< n_available_params
    std::vector<std::size_t> order_;  ///< submodule_order
    std::vector<Use> uses_;
    std::deque<Use> queue_;
    std::map<std::size_t, std::int64_t> fetched_for_;                         ///< most_recent_step_id_param_fetched_for
    std::vector<std::pair<std::size_t, std::shared_ptr<Handle>>> in_flight_;  ///< in the order of the gathers
    UnderWay fetches_;                                                        ///< ongoing_fetch_events
    std::vector<std::size_t> in_backward_;                                    ///< active_backward_submodules
    std::map<std::pair<std::size_t, std::int64_t>, std::set<std::size_t>> releases_;  ///< lru_cache
};

}  // namespace vramfit::model
