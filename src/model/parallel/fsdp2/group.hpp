// torch's FSDPParamGroup: parameters that are gathered and reduced together, each cut by its rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/module.hpp"
#include "engine/tensor.hpp"

namespace vramfit::model {

class Fsdp2Group;

/// FSDPCommContext, and what is the same for all groups.
struct Fsdp2Comm {
    engine::Session& session;
    std::int64_t world = 2;              ///< processes that rows are cut over
    std::int64_t rank = 0;               ///< among them
    std::optional<DType> compute_dtype;  ///< MixedPrecisionPolicy.param_dtype, which is its reduce_dtype too
    bool offloads = false;               ///< CPUOffloadPolicy: rows, gradients and states are in host memory
    bool replicates = false;             ///< HSDP: other groups of processes have the same rows
    bool reduces = true;                 ///< reduce_grads: not in no_sync

    std::int64_t loading_rank = 0;  ///< while cpu_ram_efficient_loading sends rows
    bool sends_rows = true;         ///< the main process

    engine::Tensor gathered{};      ///< all_gather_state: kept until the next group has copied its own
    engine::Tensor reduce_input{};  ///< reduce_scatter_state: kept until the next group's gradients are reduced
    std::vector<Fsdp2Group*> post_forward_order{};
    const Fsdp2Group* recomputing = nullptr;  ///< iter_forward_root of a recomputation: the outermost group

    bool has_adapters = false;                                  ///< what is trained is theirs
    std::map<const engine::Tensor*, engine::Module> modules{};  ///< of each parameter
    std::uint8_t gather_stream = 1;                             ///< all_gather_copy_in_stream: each root has its own
};

/// A parameter as its modules hold it: one place, or several that share it.
using ParameterPlaces = std::vector<engine::Tensor*>;

/// A parameter with the memory of its rows on this rank.
struct ShardedParameter {
    ParameterPlaces places;
    engine::Tensor shard;  ///< as many rows as the first rank has
};

/// Rows of the first ranks' shards, which have the most, and of one rank's.
std::int64_t most_rows_of(const engine::Tensor& whole, std::int64_t world);
std::int64_t rows_on(std::int64_t rank, const engine::Tensor& whole, std::int64_t world);
/// So many rows of a parameter, uninitialised. `op` names what makes them.
engine::Tensor empty_rows(const Fsdp2Comm& comm, const engine::Tensor& whole, std::int64_t rows, engine::Op op);
/// The shard where shards live: itself, or one in host memory.
engine::Tensor kept_shard(const Fsdp2Comm& comm, engine::Tensor shard);
/// What holds the rows of this rank of a parameter, uninitialised; in host memory where they live there. `op` names
/// what makes it.
engine::Tensor make_shard(const Fsdp2Comm& comm, const engine::Tensor& whole, engine::Op op);

class Fsdp2Group {
  public:
    /// From now on the places of the parameters hold this rank's rows.
    Fsdp2Group(Fsdp2Comm& comm, const std::vector<ShardedParameter>& parameters, bool reshards_after_forward);
    Fsdp2Group(const Fsdp2Group&) = delete;
    Fsdp2Group& operator=(const Fsdp2Group&) = delete;

    void pre_forward();
    void post_forward();
    void pre_backward();
    void post_backward();
    /// FSDPState._root_post_backward_final_callback, as far as it is about this group.
    void finish_backward();
    Fsdp2Comm& comm() const { return comm_; }
    bool is_unsharded() const { return is_unsharded_; }
    /// A recomputation in the backward pass: modules' hooks do nothing.
    bool is_in_backward() const { return in_backward_; }

  private:
    enum class State : std::uint8_t { idle, forward, pre_backward, post_backward };

    /// FSDPParam.
    struct Parameter {
        ParameterPlaces places;
        engine::Dims sizes;
        Size shard_elements = 0;                ///< of each rank, padded
        Category category = Category::weights;  ///< or of an adapter
        engine::Module module;                  ///< whose it is
        engine::Tensor sharded;                 ///< this rank's rows
        engine::Tensor padded;                  ///< _sharded_param_data
        engine::Tensor output;                  ///< all_gather_outputs: its memory comes and goes
        engine::Tensor unsharded;               ///< the leaf that modules compute with
    };

    std::vector<engine::Tensor> gather_inputs() const;
    void unshard();
    void wait_for_unshard();
    void reshard();
    void prefetch();
    void reduce(const std::vector<Parameter*>& parameters, std::vector<engine::Tensor>& grads);
    DType gather_dtype(const Parameter& p) const { return comm_.compute_dtype.value_or(p.sharded.dtype()); }

    Fsdp2Comm& comm_;
    bool reshards_after_forward_;
    State state_ = State::idle;
    bool in_backward_ = false;
    bool is_unsharded_ = false;
    std::vector<Parameter> parameters_;
    engine::Module module_;  ///< around them all
    engine::Tensor all_gather_result_;
    engine::Tensor all_reduced_;  ///< _all_reduce_state: kept until the backward pass ends
    std::vector<std::size_t> post_forward_indices_;
};

}  // namespace vramfit::model
