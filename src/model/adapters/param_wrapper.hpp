// Adapters on parameters that are not those of a linear layer (peft's ParamWrapper).
#pragma once

#include <string_view>
#include <vector>

#include "model/network/run.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::model {

/// A parameter as a forward pass sees it: with its adapter's delta, if it has one. Lives as long as the wrapper's
/// forward.
class FoldedParameter {
  public:
    /// ParamWrapper._activate_lora, where the parameter has an adapter: factors are made, and the sum once to check it.
    FoldedParameter(const BareModule& module, std::size_t index);
    /// The parameter; with an adapter a new tensor.
    Tensor value() const;

  private:
    Tensor weight_;
    Tensor left_, right_;  ///< of an adapter over experts
    Tensor delta_;         ///< of another
    double scaling_ = 1.0;
};

/// All parameters of a module as one forward pass sees them; those without an adapter are the module's.
class FoldedParameters {
  public:
    /// The wrapper of the last parameter is the outermost.
    explicit FoldedParameters(const BareModule& module);
    FoldedParameters(const FoldedParameters&) = delete;
    FoldedParameters& operator=(const FoldedParameters&) = delete;
    ~FoldedParameters();
    /// With its adapter's delta, made when it is asked for the first time (parametrize.cached); undefined without one.
    Tensor value(std::string_view name);

  private:
    struct Folded {
        std::string_view name;
        FoldedParameter parameter;
        Tensor sum;
    };
    std::vector<Folded> folded_;  ///< outermost first
};

/// ParamWrapper.update_layer: A and B of one parameter for all experts.
void adapt_parameter(engine::Session& session, BareModule& module, const LoraTarget& target, Size rank,
                     const LoraPlan& plan);

}  // namespace vramfit::model
