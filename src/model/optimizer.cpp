// The table of optimizers.
#include "model/optimizer.hpp"

#include <fmt/format.h>

#include "model/optimizers/adamw_torch.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

namespace {
const OptimizerType* const kOptimizers[] = {&kAdamwTorch};
}

const OptimizerType& optimizer_of(const std::string& name) {
    for (const OptimizerType* o : kOptimizers)
        if (name == o->name) return *o;
    throw Error(ErrorKind::unsupported, "optim", fmt::format("\"{}\" is not supported", name));
}

Optimizer make_optimizer(engine::Session& session, const std::string& name, std::vector<ParameterGroup> groups) {
    Optimizer o;
    o.type = &optimizer_of(name);
    o.groups = std::move(groups);
    for (const ParameterGroup& g : o.groups) o.states.emplace_back(g.parameters.size());
    if (o.type->construct) o.type->construct(session, o);
    return o;
}

}  // namespace vramfit::model
