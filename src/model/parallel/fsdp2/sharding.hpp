// fully_shard, called for one module after another.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "model/network/network.hpp"
#include "model/parallel/fsdp2/group.hpp"
#include "model/step/optimizer.hpp"
#include "spec/network/model.hpp"

namespace vramfit::model {

/// While it lives the network is prepared: what accelerate holds meanwhile lives as long.
///
/// What fully_shard moves to the device ends when it returns, but for what local variables of fsdp2_prepare_model hold
/// (`held`) and `p` of Accelerator._prepare_fsdp2, the optimizer's last one. A network that is there already
/// (bitsandbytes' device map) is held whole by `original_sd` of fsdp2_prepare_model.
class Fsdp2Sharding {
  public:
    Fsdp2Sharding(const Run& run, Network& network, Fsdp2Comm& comm, const Optimizer& optimizer,
                  std::vector<const engine::Tensor*> held);

    /// The rows are on the device already, by the place of their parameter.
    void take_rows(std::map<const engine::Tensor*, engine::Tensor> rows) { sent_ = std::move(rows); }

    /// fully_shard of a module that has these parameters; of that path in a recorded network, whose buffers go along.
    std::unique_ptr<Fsdp2Group> group(const std::vector<ParameterPlaces>& parameters, bool reshards,
                                      std::string_view path = {});
    /// The same of one that has the embedding's scale.
    std::unique_ptr<Fsdp2Group> group_with_scale(const std::vector<ParameterPlaces>& parameters, bool reshards);
    /// The same of the whole network: what no other module has, and the buffers. Null: it has no parameters.
    std::unique_ptr<Fsdp2Group> root(const std::vector<ParameterPlaces>& parameters, bool reshards);

  private:
    std::vector<engine::Tensor> move(const std::vector<ParameterPlaces>& parameters);
    std::unique_ptr<Fsdp2Group> cut(const std::vector<ParameterPlaces>& parameters, bool reshards);
    void move_scale();
    void move_buffers(std::string_view path);

    const Run& run_;
    Network& network_;
    Fsdp2Comm& comm_;
    std::vector<const engine::Tensor*> held_;
    std::vector<network::Buffer> buffers_;   ///< of a recorded network
    bool moves_;                             ///< from host memory
    std::vector<engine::Tensor> stand_ins_;  ///< of the optimizer's parameters
    std::vector<engine::Tensor> kept_;
    std::map<const engine::Tensor*, engine::Tensor> sent_;
};

}  // namespace vramfit::model
