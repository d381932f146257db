// Choice and construction of optimizers, and their parameter groups.
#include "model/step/optimizer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::model {

namespace {

bool ends_with_or_dot(const std::string& name, const std::string& word, bool at_start) {
    for (std::size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        const bool starts = !at_start || at == 0 || name[at - 1] == '.';
        if (starts && (end == name.size() || name[end] == '.')) return true;
    }
    return false;
}

/// transformers 5.17 trainer.py get_decay_parameter_names: bias, layernorm, rmsnorm, (^|.)norm($|.), _norm($|.).
bool decays(std::string_view parameter) {
    const std::string name = lower_case(parameter);
    for (const char* word : {"bias", "layernorm", "rmsnorm"})
        if (name.find(word) != std::string::npos) return false;
    return !ends_with_or_dot(name, "norm", true) && !ends_with_or_dot(name, "_norm", false);
}

/// transformers 4.40 trainer.py get_decay_parameter_names: no biases and no module of ALL_LAYERNORM_LAYERS, where of
/// our families only modeling_llama.py and modeling_gemma.py put their norm.
bool decays_4_40(const std::string& name, const std::string& model_type) {
    const bool listed = model_type == "llama" || model_type == "gemma";
    return name.find("bias") == std::string::npos && !(listed && name.find("norm") != std::string::npos);
}

}  // namespace

const OptimizerType& optimizer_of(const std::string& name) {
    std::vector<std::string> known;
    for (const OptimizerType* o : all_optimizers()) {
        if (name == o->name || (o->alias && name == o->alias)) return *o;
        known.emplace_back(o->name);
    }
    throw Error(ErrorKind::unsupported, "training.optim", fmt::format("the optimizer '{}' is not supported", name),
                fmt::format("supported: {}", fmt::join(known, ", ")));
}

Optimizer make_optimizer(engine::Session& session, const TrainingPlan& plan, std::vector<ParameterGroup> groups) {
    Optimizer o;
    o.type = &optimizer_of(plan.optim);
    o.arguments = plan.optim_args;
    o.decays = plan.weight_decay != 0;
    o.groups = std::move(groups);
    for (const ParameterGroup& g : o.groups) o.states.emplace_back(g.parameters.size());
    if (o.type->construct) o.type->construct(session, o);
    return o;
}

void zero_grad(Optimizer& optimizer) {
    for (const ParameterGroup& group : optimizer.groups)
        for (const NamedParameter& p : group.parameters) (*p.tensor)->grad.reset();
}

namespace {

/// unsloth 2026.10.7 trainer.py _create_unsloth_optimizer: modules that are trained whole have groups of their own.
std::vector<ParameterGroup> groups_of_unsloth(Network& network) {
    ParameterGroup adapters{{}, true}, ends{{}, true};
    for (const NamedParameter& p : trainable_parameters(network))
        (p.wrapper.empty() ? adapters : ends).parameters.push_back(p);
    return {adapters, ends};
}

}  // namespace

std::vector<ParameterGroup> decay_groups(const Run& run, Network& network) {
    if (run.unsloth && run.plan.unsloth.embedding_learning_rate) return groups_of_unsloth(network);
    ParameterGroup decay{{}, true}, no_decay{{}, false};
    const bool by_name = run.stack.trainer_groups_by_name();
    for (const NamedParameter& p : trainable_parameters(network)) {
        const bool yes = by_name ? decays(p.name()) : decays_4_40(p.name(), run.spec.model_type);
        (yes && !p.layer_norm ? decay : no_decay).parameters.push_back(p);
    }
    return {decay, no_decay};
}

std::vector<std::vector<std::size_t>> positions_by_dtype(const engine::Session& session,
                                                         const std::vector<Tensor>& tensors) {
    std::vector<DType> dtypes;
    for (const Tensor& t : tensors)
        if (std::find(dtypes.begin(), dtypes.end(), t.dtype()) == dtypes.end()) dtypes.push_back(t.dtype());
    if (session.stack.foreach_groups_backwards()) std::reverse(dtypes.begin(), dtypes.end());
    std::vector<std::vector<std::size_t>> out;
    for (const DType dtype : dtypes) {
        auto& group = out.emplace_back();
        for (std::size_t i = 0; i < tensors.size(); ++i)
            if (tensors[i].dtype() == dtype) group.push_back(i);
    }
    return out;
}

}  // namespace vramfit::model
