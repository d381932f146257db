// What is made in a scope belongs to a module of the network.
#pragma once

#include <string_view>

#include "engine/session.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

/// The module of this name: "model.layers.0.self_attn.q_proj" is layer 0's "self_attn.q_proj", "lm_head" no layer's.
engine::Module module_named(engine::Recorder& recorder, std::string_view name);

/// The module around another one: "model.layers.0.self_attn".
inline std::string_view parent_of(std::string_view name) { return name.substr(0, name.find_last_of('.')); }

/// In this scope the module of that name runs; without a name the one that did already.
class InModule {
  public:
    InModule(engine::Session& session, std::string_view name)
        : scope_(session.recorder.module,
                 name.empty() ? session.recorder.module : module_named(session.recorder, name)) {}

  private:
    engine::Scoped<engine::Module> scope_;
};

/// Says of memory that is there already whose it is: parameters are made by the loader.
void belongs_to(const engine::Tensor& t, engine::Module module);
void belongs_to(const engine::Tensor& t, std::string_view module);

/// The same of all parameters of a network, and of what bitsandbytes keeps beside them.
void place_parameters(Network& network);

}  // namespace vramfit::model
