// torch.nn.Module.__call__: a module's forward between the hooks around it.
#pragma once

#include "engine/module_hooks.hpp"
#include "engine/session.hpp"
#include "model/network/in_module.hpp"

namespace vramfit::model {

/// Modules that have no object of their own share one's place in the network.
enum class Part : std::uint8_t {
    itself,
    attention,   ///< of a decoder layer
    mlp,         ///< of a decoder layer
    activation,  ///< of an mlp
    base_layer,  ///< these five of a layer with an adapter
    dropout,
    lora_a,
    lora_b,
    magnitude,
    saved,    ///< the trained copy inside of peft's ModulesToSaveWrapper
    rotary,   ///< these four of a network
    decoder,  ///< LlamaModel
    whole,    ///< LlamaForCausalLM
    tuner,    ///< LoraModel
    adapted,  ///< PeftModelForCausalLM
};

inline engine::ModuleKey key_of(const void* place, Part part) { return {place, static_cast<std::uint8_t>(part)}; }

/// A module's forward reads a parameter that is another module's.
inline void read(const engine::Tensor& parameter) {
    if (engine::ModuleHooks* const hooks = parameter.session().module_hooks) hooks->read(parameter);
}

/// Calls `forward` with the input that the hooks give it.
template <class Forward>
engine::Tensor called(const void* place, Part part, const engine::Tensor& input, Forward forward) {
    engine::ModuleHooks* const hooks = input.session().module_hooks;
    if (!hooks) return forward(input);
    const engine::Tensor given = hooks->before(key_of(place, part), input);
    return hooks->after(key_of(place, part), forward(given));
}

/// The same of a module that peft may have put into a ModulesToSaveWrapper: its trained copy is called inside of that.
template <class Module, class Forward>
engine::Tensor called_module(const Module& module, const engine::Tensor& input, Forward forward) {
    const InModule scope(input.session(), module.name);
    return called(&module, Part::itself, input, [&](const engine::Tensor& given) {
        return module.original ? called(&module, Part::saved, given, forward) : forward(given);
    });
}

}  // namespace vramfit::model
