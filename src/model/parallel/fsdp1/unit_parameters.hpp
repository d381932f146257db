// Which parameters a unit of FullyShardedDataParallel has, and in which order they go to the device.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "model/parallel/fsdp2/group.hpp"

namespace vramfit::model {

/// How deep a module lies in the network, which is 0.
inline int depth_of(std::string_view name) {
    return name.empty() ? 0 : 1 + static_cast<int>(std::count(name.begin(), name.end(), '.'));
}

/// Parameters of a unit in the order of the module tree, those that modules share once.
class UnitParameters {
  public:
    /// `depth`: of the module that has it, below the unit.
    void add(int depth, engine::Tensor& t);

    const std::vector<ParameterPlaces>& all() const { return all_; }
    /// The same in the order in which torch 2.11 distributed/fsdp/_init_utils.py _move_module_to_device moves them:
    /// those first that lie highest.
    std::vector<ParameterPlaces> to_move() const;

  private:
    std::vector<ParameterPlaces> all_;
    std::vector<std::pair<int, ParameterPlaces>> by_depth_;
};

}  // namespace vramfit::model
