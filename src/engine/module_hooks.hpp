// What a library hangs around every module: forward pre-hooks and forward hooks of torch.nn.Module.
#pragma once

#include <cstdint>
#include <span>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// A module by its place in the network; `part` tells modules apart that share a place.
struct ModuleKey {
    const void* place = nullptr;
    std::uint8_t part = 0;

    friend auto operator<=>(const ModuleKey&, const ModuleKey&) = default;
};

class ModuleHooks {
  public:
    virtual ~ModuleHooks() = default;

    /// Before a module's forward: returns what it is called with. Undefined: there is no positional argument.
    virtual Tensor before(const ModuleKey& module, const Tensor& input) = 0;
    /// The same of a module with several positional arguments that may need gradients.
    virtual void before_all(const ModuleKey& module, std::span<Tensor* const> inputs) {
        if (!inputs.empty()) *inputs[0] = before(module, *inputs[0]);
    }
    /// After its forward: what it gives back, which may be replaced.
    virtual void after_all(const ModuleKey& module, std::span<Tensor* const> outputs) = 0;
    /// The same of a module that gives back one tensor: returns it.
    Tensor after(const ModuleKey& module, Tensor output) {
        Tensor* const outputs[] = {&output};
        after_all(module, outputs);
        return output;
    }
    /// A module's forward reads an attribute of another module's parameter.
    virtual void read(const Tensor& parameter) = 0;
    /// Taken off the modules, which have all their parameters until they are put back. Calls still come: some hooks
    /// stay.
    virtual void take_off() {}
    virtual void put_back() {}
    /// What stands in place of torch.nn.functional.linear.
    virtual Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) = 0;
};

}  // namespace vramfit::engine
