// Optimizers: what each keeps between steps and takes during one. Each has its file in optimizers/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/network/run.hpp"
#include "vramfit/spec/train_plan.hpp"

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
    std::string arguments;  ///< TrainingArguments.optim_args
    bool decays = false;    ///< TrainingArguments.weight_decay is not 0
    std::vector<ParameterGroup> groups;
    std::vector<std::vector<OptimizerState>> states;  ///< by group and parameter
    std::vector<Tensor> shared;                       ///< what belongs to no parameter (code books)
    bool one_by_one = false;                          ///< torch: foreach=False, over pieces and whole tensors
    bool embeddings_in_32bit = false;                 ///< bitsandbytes' GlobalOptimManager was told so
};

struct OptimizerType {
    const char* name;                                 ///< TrainingArguments.optim
    const char* alias;                                ///< another name of the same, or null
    void (*construct)(engine::Session&, Optimizer&);  ///< device memory taken by the constructor; may be null
    void (*step)(engine::Session&, Optimizer&);       ///< null: there is no optimizer
    bool is_8bit = false;                             ///< Trainer asks for 32-bit states of embeddings
    bool scales_gradients = false;                    ///< torch: _step_supports_amp_scaling
};

/// Throws Error (unsupported) for a name without a file.
const OptimizerType& optimizer_of(const std::string& name);

Optimizer make_optimizer(engine::Session& session, const TrainingPlan& plan, std::vector<ParameterGroup> groups);

/// Gradients set to None, in the order of the groups.
void zero_grad(Optimizer& optimizer);

/// Trainer.create_optimizer's groups: with and without weight decay.
std::vector<ParameterGroup> decay_groups(const Run& run, Network& network);

/// torch.utils._foreach_utils._group_tensors_by_device_and_dtype: positions in `tensors`, one list for each dtype.
std::vector<std::vector<std::size_t>> positions_by_dtype(const engine::Session& session,
                                                         const std::vector<Tensor>& tensors);

}  // namespace vramfit::model

namespace vramfit {

std::span<const model::OptimizerType* const> all_optimizers();

}  // namespace vramfit
