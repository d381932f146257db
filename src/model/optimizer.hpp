// Optimizers: what each keeps between steps and takes during one. Each has its file in optimizers/.
#pragma once

#include <string>
#include <vector>

#include "engine/session.hpp"
#include "model/network.hpp"

namespace vramfit::model {

/// One entry of optimizer.param_groups.
struct ParameterGroup {
    std::vector<NamedParameter> parameters;
    bool weight_decay = false;
};

/// State of one parameter, made in its first step: moments, absmax, counters.
using OptimizerState = std::vector<Tensor>;

/// An optimizer object in a run.
struct Optimizer {
    const struct OptimizerType* type = nullptr;
    std::vector<ParameterGroup> groups;
    std::vector<std::vector<OptimizerState>> states;  ///< by group and parameter
    std::vector<Tensor> shared;                       ///< what belongs to no parameter (code books)
};

struct OptimizerType {
    const char* name;                                 ///< TrainingArguments.optim
    void (*construct)(engine::Session&, Optimizer&);  ///< device memory taken by the constructor; may be null
    void (*step)(engine::Session&, Optimizer&);
};

/// Throws Error (unsupported) for a name without a file.
const OptimizerType& optimizer_of(const std::string& name);

Optimizer make_optimizer(engine::Session& session, const std::string& name, std::vector<ParameterGroup> groups);

}  // namespace vramfit::model
