// Parameters of ZeRO-3: each process holds a piece of each, and the whole one for as long as it is gathered.
#pragma once

#include <initializer_list>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/streams.hpp"
#include "model/network/run.hpp"

namespace vramfit::model {

/// A number of elements that decides what happens.
inline std::int64_t count_of(const Tensor& t) { return static_cast<std::int64_t>(t.numel()); }

/// deepspeed 0.19.8 runtime/zero/partition_parameters.py, what Init puts on a parameter.
struct PartitionedParameter {
    enum class Status : std::uint8_t { available, not_available, in_flight };

    Tensor tensor;
    engine::Dims sizes;
    std::int64_t elements = 0;
    Tensor piece;               ///< ds_tensor
    std::int64_t in_piece = 0;  ///< its elements, padding included
    Status status = Status::available;
    bool persists = false;       ///< ds_persist: stays gathered between its uses
    std::set<std::size_t> used;  ///< ds_active_sub_modules
    engine::Module module;       ///< whose it is
};

/// All parameters by ds_id, the order in which they were cut.
class Partitions {
  public:
    using Status = PartitionedParameter::Status;

    Partitions(engine::Session& session, const DistributedPlan& plan);

    std::vector<PartitionedParameter>& all() { return all_; }
    PartitionedParameter& operator[](std::size_t id) { return all_[id]; }
    /// ds_id, or nothing if it has not been cut.
    const std::size_t* find(const Tensor& parameter) const;
    std::int64_t world() const { return world_; }
    std::int64_t rank() const { return rank_; }

    /// Init._convert_to_deepspeed_param of a parameter on the device.
    std::size_t convert(const Tensor& parameter);
    /// Says whose a parameter is: its piece and what is gathered from now on are that module's.
    void belongs(std::size_t id, engine::Module module);
    /// The module around several.
    engine::Module around(std::span<const std::size_t> ids) const;
    /// Init._partition_param: the first time its piece is made.
    void partition(std::size_t id);
    /// The last one converted is no parameter of the network: its piece.
    Tensor forget_last();
    /// Init._all_gather with async_op false.
    void gather(std::span<const std::size_t> ids);
    /// The piece on the device: a copy where pieces are in host memory.
    Tensor piece_on_device(std::size_t id) const;
    /// A flat tensor becomes what the parameter's modules compute with.
    void take(std::size_t id, const Tensor& flat);

  private:
    engine::Session& session_;
    std::int64_t world_ = 2;
    std::int64_t rank_ = 0;
    bool on_host_ = false;  ///< offload_param
    std::vector<PartitionedParameter> all_;
    std::unordered_map<const engine::TensorImpl*, std::size_t> ids_;
};

/// deepspeed.zero.GatheredParameters with a modifier_rank: whole for as long as this lives. `partitions` may be null.
class Gathered {
  public:
    Gathered(Partitions* partitions, std::initializer_list<const Tensor*> parameters);
    ~Gathered();
    Gathered(const Gathered&) = delete;
    Gathered& operator=(const Gathered&) = delete;

  private:
    Partitions* partitions_;
    std::vector<std::size_t> ids_;
};

}  // namespace vramfit::model
