// A network that is not trained, as trl's prepare_fsdp cuts it: one group of all its parameters.
#pragma once

#include <memory>
#include <span>

#include "model/network/network.hpp"
#include "model/network/run.hpp"
#include "model/parallel/fsdp2/group.hpp"

namespace vramfit::model {

class Fsdp2Reference {
  public:
    /// Cuts a network that lies on the device as a whole.
    Fsdp2Reference(const Run& run, Network& network);

    void before_forward() { group_->pre_forward(); }
    /// Its outputs, without those that are undefined, are cast.
    void after_forward(std::span<Tensor* const> outputs);

  private:
    Fsdp2Comm comm_;
    std::unique_ptr<Fsdp2Group> group_;
};

}  // namespace vramfit::model
