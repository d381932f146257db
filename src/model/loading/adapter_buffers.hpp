// Buffers of adapters that were made in host memory: where they stand among the parameters that are moved.
#pragma once

#include <map>
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

class AdapterBuffers {
  public:
    explicit AdapterBuffers(Network& network) {
        for (Embedding* table : embeddings(network))
            if (auto& tokens = table->tokens) behind_[&tokens->delta].push_back(&tokens->original);
        bool has_shared = false;
        for (Linear* linear : linears(network)) {
            if (!linear->other) continue;
            OtherAdapter& adapter = *linear->other;
            const bool behind_base = adapter.buffers_first || adapter.parameters.empty();
            const Tensor* const last_of_base = linear->bias.defined() ? &linear->bias : &linear->weight;
            std::vector<Tensor*>& behind = behind_[behind_base ? last_of_base : &adapter.parameters.back().tensor];
            for (Tensor& buffer : adapter.buffers) behind.push_back(&buffer);
            // What all layers share and nobody trains stands in each of them: the first one moves it.
            const bool is_trained = !adapter.tied.empty() || !adapter.shared_name.empty();
            if (is_trained || has_shared) continue;
            for (Tensor& buffer : *adapter.shared) behind.push_back(&buffer);
            has_shared = true;
        }
    }
    /// Those behind a parameter.
    void move_behind(const Tensor* parameter) const {
        const auto found = behind_.find(parameter);
        if (found == behind_.end()) return;
        const engine::Scoped<Category> fresh(parameter->session().recorder.fresh, Category::adapters);
        for (Tensor* buffer : found->second) engine::set_data(*buffer, engine::to_device(*buffer));
    }

  private:
    std::map<const Tensor*, std::vector<Tensor*>> behind_;
};

}  // namespace vramfit::model
