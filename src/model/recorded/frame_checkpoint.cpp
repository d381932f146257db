// Checkpointed units of recorded programs.
#include <algorithm>
#include <span>

#include "engine/checkpoint.hpp"
#include "model/network/called.hpp"
#include "model/recorded/frame.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Networks whose units are given a container that outlives them, read or not: transformers 5.17.0 modeling_gemma4.py
/// Gemma4TextModel.forward, modeling_gemma4_unified.py, modeling_gemma3n.py Gemma3nTextModel.forward, shared_kv_states.
/// What units of others keep are views of what they give back.
bool leaves_values_to_others(std::string_view model_type) {
    return model_type.starts_with("gemma4") || model_type.starts_with("gemma3n");
}

}  // namespace

/// In which order a unit's function lets go of what it closes over: that of the call's arguments, tuples from
/// behind.
std::vector<std::size_t> RecordedFrame::order_of_closure(const network::Program& unit) const {
    const std::vector<network::Number> places = unit.given();
    std::vector<std::string_view> names(places.size());
    const auto* inner = unit.code.empty() ? nullptr : std::get_if<network::Run>(&unit.code.front());
    if (inner) {
        const network::Program& called = pass_->model.document().programs[inner->program];
        const std::vector<network::Number> given = called.given();
        for (std::size_t i = 0; i < given.size(); ++i)
            for (std::size_t place = 0; place < places.size(); ++place)
                if (inner->given[i] == places[place]) names[place] = called.name_of(given[i]);
    }
    std::vector<std::size_t> order;
    const auto tuple_of = [&](std::size_t place) { return names[place].substr(0, names[place].find('.')); };
    for (std::size_t first = 0; first < places.size();) {
        std::size_t end = first + 1;
        const bool is_tuple = names[first].find('.') != std::string_view::npos;
        while (is_tuple && end < places.size() && tuple_of(end) == tuple_of(first)) ++end;
        for (std::size_t i = end; i-- > first;) order.push_back(i);
        first = end;
    }
    return order;
}

/// What a unit returns first, of so many outputs. A view keeps what it is a view of, which is the same memory; other
/// values that the unit keeps it has shared with others.
Tensor RecordedFrame::result_of_unit(const std::vector<Tensor>& left, std::size_t outputs) const {
    const auto kept = std::span(left).subspan(std::min(outputs, left.size()));
    SharedValues& shared = *pass_->sharing;
    if (std::all_of(kept.begin(), kept.end(), [&](const Tensor& one) {
            return !one.defined() || one.get()->storage.get() == left[0].get()->storage.get();
        })) {
        shared = {false, {}};
    } else if (shared.values.size() != kept.size()) {
        throw Error(ErrorKind::unsupported, place(), "a checkpointed unit that keeps other tensors is not supported",
                    "turn gradient checkpointing off");
    }
    return left.at(0);
}

/// The program that makes the last of what a unit shares puts it where the others find it.
void RecordedFrame::share(network::Number made) const {
    const std::vector<network::Number>& keeps = program_.keeps;
    if (!pass_->sharing->is_shared || keeps.empty() || keeps.back() != made) return;
    pass_->sharing->values.clear();
    for (const network::Number number : keeps) pass_->sharing->values.push_back(slots_[number]);
}

/// Which values of this program a unit has shared.
void RecordedFrame::remember_shared(const network::Run& what, std::size_t outputs) {
    if (!pass_->shared[&what].is_shared) return;
    for (std::size_t i = outputs; i < what.results.size(); ++i) shared_[what.results[i]] = {&what, i - outputs};
}

/// What was not compared: a unit by its arguments and the number of its outputs; `hooked`: what shares the network
/// hooks it.
void RecordedFrame::judge_unit(const std::vector<Tensor>& arguments, std::size_t outputs, bool hooked) const {
    const bool is_reentrant = pass_->network.checkpointing == Checkpointing::reentrant;
    const bool other_gradients = std::any_of(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end(),
                                             [](const Tensor& t) { return t.defined() && needs_grad(t); });
    if (is_reentrant && other_gradients)
        throw Error(ErrorKind::unsupported, std::string(here().path),
                    "reentrant checkpointing of layers that are given several tensors with gradients is not supported",
                    "use_reentrant=False, or no gradient checkpointing");
    if (outputs == 0 || arguments.empty() || (outputs > 1 && hooked))
        throw Error(ErrorKind::unsupported, std::string(here().path),
                    "a checkpointed unit with several results, or without arguments, is not supported here",
                    "turn gradient checkpointing off, or ask for use_reentrant=False on one GPU");
}

/// torch.utils.checkpoint: named inputs are arguments, the others are what the unit closes over.
std::vector<Tensor> RecordedFrame::checkpoint(const network::Run& what, std::vector<Tensor> given) {
    const network::Program& unit_program = program_of(what);
    const std::vector<network::Number> places = unit_program.given();
    const RecordedModule* const around = unit_inside(unit_program);
    UnitHooks* const hooks = around ? unit_hooks() : nullptr;
    const bool hooked = hooks && hooks->around_checkpoints();
    if (hooked) {
        cast_inputs(*around, given);
        enter_unit(*around, given);
    } else if (!hooks && !in_unit_) {  // Zamba's layers with attention have another unit inside
        begin_unit(around ? around->unit : static_cast<int>(pass_->units), given.at(0));
    }
    engine::Arguments arguments;
    std::vector<std::size_t> is_argument;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto& inputs = unit_program.inputs;
        const bool named = std::any_of(inputs.begin(), inputs.end(), [&](const network::Input& input) {
            return input.what.value == places[i] && !input.name.empty();
        });
        if (!named) continue;
        is_argument.push_back(i);
        arguments.push_back(std::move(given[i]));
        given[i].reset();
    }
    for (const Tensor& closed_over : given)
        if (closed_over.defined() && !closed_over.requires_grad()) label_saved(closed_over);
    std::vector<std::pair<std::size_t, Tensor>> kept;
    std::vector<std::pair<std::size_t, std::pair<const network::Run*, std::size_t>>> read;  // what others have shared
    for (const std::size_t place : order_of_closure(unit_program)) {
        if (const auto found = shared_.find(what.given[place]); found != shared_.end())
            read.emplace_back(place, found->second);
        else
            kept.emplace_back(place, std::move(given[place]));
        given[place].reset();
    }
    if (!read.empty() && pass_->network.checkpointing == Checkpointing::reentrant)
        throw Error(ErrorKind::unsupported, place(),
                    "reentrant checkpointing of layers that take the keys and values of others is not supported",
                    "use_reentrant=False, or no gradient checkpointing");
    const std::size_t outputs = what.results.size() - std::min(what.results.size(), unit_program.keeps.size());
    const UnitOfSeveral unit = [pass = pass_, program = what.program, module = module_, count = places.size(),
                                kept = std::move(kept), read = std::move(read), is_argument, outputs,
                                call = &what](std::span<const Tensor> called_with) {
        std::vector<Tensor> all(count);
        for (const auto& [place, tensor] : kept) all[place] = tensor;
        for (const auto& [place, of] : read) all[place] = pass->shared.at(of.first).values.at(of.second);
        const Scoped<SharedValues*> sharing(pass->sharing, &pass->shared[call]);
        for (std::size_t i = 0; i < is_argument.size(); ++i) all[is_argument[i]] = called_with[i];
        RecordedFrame frame(pass, program, module, true);
        std::vector<Tensor> left = frame.call(std::move(all));
        left.at(0) = frame.result_of_unit(left, outputs);
        left.resize(outputs);
        return left;
    };
    const bool is_reentrant = pass_->network.checkpointing == Checkpointing::reentrant;
    judge_unit(arguments, outputs, hooked);
    pass_->shared.try_emplace(&what, SharedValues{leaves_values_to_others(pass_->model.document().model_type), {}});
    std::vector<Tensor> results =
        is_reentrant ? checkpoint_reentrant(unit, arguments) : checkpoint_non_reentrant(unit, arguments);
    results.resize(what.results.size());
    remember_shared(what, outputs);
    if (hooked) leave_unit(*around, results);
    return results;
}

/// The decoder layer that a checkpointed unit calls; null: another module, or several.
const RecordedModule* RecordedFrame::unit_inside(const network::Program& unit) const {
    const auto* inner = unit.code.empty() ? nullptr : std::get_if<network::Run>(&unit.code.front());
    if (!inner || inner->kind != network::Run::Kind::module) return nullptr;
    const RecordedModule& called = pass_->model.module(pass_->model.find(module_, inner->path));
    return called.is_unit() ? &called : nullptr;
}

}  // namespace vramfit::model
