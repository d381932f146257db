// Buffers of adapters that were made in host memory: where they stand among the parameters that are moved.
#pragma once

#include <map>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

class AdapterBuffers {
  public:
    explicit AdapterBuffers(Network& network) {
        for (Linear* linear : linears(network)) {
            if (!linear->other || linear->other->buffers.empty()) continue;
            const Tensor& last_of_base = linear->bias.defined() ? linear->bias : linear->weight;
            behind_[linear->other->buffers_first ? &last_of_base : &linear->other->parameters.back().tensor] =
                &linear->other->buffers;
        }
    }
    /// Those behind a parameter.
    void move_behind(const Tensor* parameter) const {
        const auto found = behind_.find(parameter);
        if (found == behind_.end()) return;
        const engine::Scoped<Category> fresh(parameter->session().recorder.fresh, Category::adapters);
        for (Tensor& buffer : *found->second) engine::set_data(buffer, engine::to_device(buffer));
    }

  private:
    std::map<const Tensor*, std::vector<Tensor>*> behind_;
};

}  // namespace vramfit::model
