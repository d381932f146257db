// Whether a plan makes sense for a network and a stack, before anything is recorded.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/note.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

class Problems;
namespace network {
struct Facts;
}

/// What is worth saying about the plan. Throws one Error with everything that cannot be: what the libraries refuse
/// themselves (invalid, with their reason) and what they do but this program does not (unsupported).
Notes check_plan(const ModelSpec& model, const TrainPlan& plan, const Stack& stack);

/// The same for many plans of one network: modules are not matched again while only other things change.
class PlanChecker {
  public:
    PlanChecker(const ModelSpec& model, const Stack& stack) : model_(model), stack_(stack) {}

    Notes check(const TrainPlan& plan);

  private:
    void check_adapters(const LoraPlan& plan, Problems& problems);

    const ModelSpec& model_;
    const Stack& stack_;
    std::optional<LoraPlan> matched_;  ///< adapters of which the targets are known, whatever their rank
    std::vector<LoraTarget> targets_;
    std::optional<LoraPlan> fine_;  ///< adapters in which nothing was wrong
    std::optional<bool> learns_positions_;
    std::shared_ptr<const network::Facts> facts_;  ///< of a recorded network
    std::optional<std::int64_t> unquantized_;      ///< parameters that no quantizer reaches
};

/// Whether Unsloth's step was compared on GPUs of that capability.
bool unsloth_was_compared_on(const Capability& capability);

/// What loading may come to where threads run ahead of the quantizer; nothing where they do not.
Bytes most_of_load(const ModelSpec& model, const TrainPlan& plan, const Stack& stack);

}  // namespace vramfit
