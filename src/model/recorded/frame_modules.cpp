// Modules that a recorded program calls: windows, hooks, and what stands in memory in their place.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "engine/backward.hpp"
#include "engine/ops/view.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "model/recorded/frame.hpp"
#include "spec/network/balancing.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

/// The window of a layer: it begins outside of what checkpoints it, but behind the hooks of what shares it.
void RecordedFrame::begin_unit(int unit, const Tensor& hidden) {
    if (session().recomputing) return;
    pass_->units = static_cast<std::size_t>(unit) + 1;
    pass_->windows.layer(unit, hidden);
}

bool RecordedFrame::begins_head(const RecordedModule& child) const {
    if (in_unit_ || pass_->units_are_over || child.is_unit() || pass_->model.has_several_lists()) return false;
    if (pass_->model.has_norm_behind_layers() && !child.is_behind_layers) return false;
    return pass_->units > 0 && pass_->units == pass_->model.units();
}

std::vector<Tensor> RecordedFrame::called_child(const network::Run& what, std::vector<Tensor> given) {
    const std::uint32_t index = pass_->model.find(module_, what.path);
    const RecordedModule& child = pass_->model.module(index);
    if (child.is_unit()) return called_unit(what, index, std::move(given));
    if (unit_hooks() && child.is_final_norm) given[0] = unit_hooks()->before_norm(given.at(0));
    const bool head = begins_head(child);
    if (head) {
        pass_->units_are_over = true;
        pass_->windows.head(given.at(0));
    }
    std::vector<Tensor> results = call_module(what, index, std::move(given));
    const bool behind_base = pass_->model.has_several_lists() && child.path == pass_->model.base();
    if (behind_base) {
        pass_->units_are_over = true;
        pass_->windows.head(results.at(0));
    }
    if (head || behind_base) session().begin_loss();
    return results;
}

/// A decoder layer: with hooks of its own inside of what checkpoints it, if they are not around that.
std::vector<Tensor> RecordedFrame::called_unit(const network::Run& what, std::uint32_t index,
                                               std::vector<Tensor> given) {
    const RecordedModule& child = pass_->model.module(index);
    UnitHooks* const hooks = unit_hooks();
    if (!hooks || (in_unit_ && hooks->around_checkpoints())) {
        if (!in_unit_) begin_unit(child.unit, given.at(0));
        return call_module(what, index, std::move(given));
    }
    cast_inputs(child, given);
    const std::vector<Tensor> arguments = given;  // torch's Module._call_impl holds what it is called with
    enter_unit(child, given);
    std::vector<Tensor> results = call_module(what, index, std::move(given));
    leave_unit(child, results);
    return results;
}

/// What the hooks of a wrapped layer make of all that it is given.
void RecordedFrame::cast_inputs(const RecordedModule& unit, std::vector<Tensor>& given) const {
    if (!unit_hooks()->casts_arguments()) return;
    bool any = false;
    for (Tensor& t : given) {
        const Tensor cast = unit_hooks()->cast(t);
        any |= t.defined() && cast.dtype() != t.dtype();
        t = cast;
    }
    // torch 2.11 _fsdp_state.py _pre_forward: not in a recomputation, which is part of the layer's backward pass.
    if (any && pass_->network.checkpointing == Checkpointing::non_reentrant && !unit_hooks()->around_checkpoints())
        throw Error(ErrorKind::unsupported, unit.path,
                    "FSDP2 casts what a decoder layer is given, but not when it is computed again: torch stops where "
                    "that is saved (CheckpointError: recomputed values have different metadata)",
                    "no gradient checkpointing, the weights' own precision, FSDP1 or ZeRO-3");
}

namespace {

[[noreturn]] void refuse_hooks(const RecordedModule& unit, std::string_view what) {
    throw Error(ErrorKind::unsupported, unit.path,
                fmt::format("a decoder layer that {} is not supported with FSDP", what), "DDP or ZeRO");
}

}  // namespace

void RecordedFrame::enter_unit(const RecordedModule& unit, std::vector<Tensor>& given) {
    for (std::size_t i = 1; i < given.size(); ++i)
        if (given[i].defined() && needs_grad(given[i]))
            refuse_hooks(unit, "is given several tensors that need gradients");
    given[0] = unit_hooks()->before_layer(static_cast<std::size_t>(unit.unit), given.at(0));
    begin_unit(unit.unit, given[0]);
}

void RecordedFrame::leave_unit(const RecordedModule& unit, const std::vector<Tensor>& results) const {
    if (results.empty()) refuse_hooks(unit, "gives back nothing");
    // Of several, the first is what the next layer is given: the others' hooks find the unit gathered.
    unit_hooks()->after_layer(static_cast<std::size_t>(unit.unit), results[0]);
}

/// transformers 5.17.0 utils/output_capturing.py: a router's first output, while routers are asked.
void RecordedFrame::ask_router(const network::Run& what, const std::vector<Tensor>& results) const {
    const std::vector<NamedTensor> outputs = named_outputs(program_of(what), results);
    const NamedTensor *logits = named(outputs, "0"), *chosen = named(outputs, "2");
    if (!logits || !chosen)
        throw Error(ErrorKind::unsupported, place(), "a router whose outputs are not known cannot be balanced",
                    "training.router_aux_loss_coef 0");
    pass_->run.routers->add(logits->tensor, chosen->tensor.size(-1).value());
}

namespace {

/// 5.17.0 distributed/tensor_parallel.py MlaKvAProjParallel: what goes to all heads without another projection.
Tensor with_summed_tail(const RecordedModule& child, const Tensor& out) {
    if (child.summed_tail == 0) return out;
    const Size first = out.size(-1) - child.summed_tail;
    const Tensor parts[] = {slice(out, -1, 0, first), summed_in_backward(slice(out, -1, first, out.size(-1)))};
    return cat(parts, -1);
}

/// MoeExpertsParallel: gradients of what goes into experts in pieces are summed, and what comes out.
std::vector<Tensor> between_processes(std::vector<Tensor> given,
                                      const std::function<std::vector<Tensor>(std::vector<Tensor>)>& forward) {
    for (Tensor& t : given)
        if (t.defined() && is_floating(t.dtype())) t = summed_in_backward(t);
    std::vector<Tensor> results = forward(std::move(given));
    sum_in_place(results.at(0));
    return results;
}

}  // namespace

std::vector<Tensor> RecordedFrame::call_module(const network::Run& what, std::uint32_t index,
                                               std::vector<Tensor> given) {
    const RecordedModule& child = pass_->model.module(index);
    const GradMode grad(session(), session().grad_enabled && !what.flags.no_grad);
    if (child.linear) return {with_summed_tail(child, call_linear(*child.linear, given.at(0)))};
    if (child.embedding) return call_embedding(what, index, std::move(given));
    if (child.norm && given.size() == 1)
        return {called_module(*child.norm, given.at(0), [&](const Tensor& input) {
            const auto normalize = [&](const Tensor& x) {
                return run_program(what.program, index, {x}, in_unit_).at(0);
            };
            return child.norm->sums_gradients ? with_full_backward_hook(input, normalize) : normalize(input);
        })};
    const bool in_layer = child.is_unit() || session().recorder.module.layer >= 0;
    const InModule scope(session(), in_layer ? std::string_view(child.path) : std::string_view());
    const auto run = [&](std::vector<Tensor> inputs) {
        return session().module_hooks
                   ? between_hooks(what, index, std::move(inputs))
                   : run_program(what.program, index, std::move(inputs), in_unit_ || child.is_unit());
    };
    const bool in_pieces = child.bare && child.bare->pieces > 1;
    std::vector<Tensor> results = in_pieces ? between_processes(std::move(given), run) : run(std::move(given));
    if (pass_->run.routers && network::is_router(*child.kind)) ask_router(what, results);
    return results;
}

/// A module of the network's own between what is hung around it: hooks see positional arguments, and what is given
/// back.
std::vector<Tensor> RecordedFrame::between_hooks(const network::Run& what, std::uint32_t index,
                                                 std::vector<Tensor> given) {
    const RecordedModule& child = pass_->model.module(index);
    const network::Program& program = program_of(what);
    const auto gives_back = [&](network::Number value) {
        return std::any_of(program.outputs.begin(), program.outputs.end(),
                           [&](const network::Output& output) { return output.value == value; });
    };
    const std::vector<network::Number> places = program.given(), left = program.left();
    // nn.Identity: nothing is gathered for it, and what hangs around it makes no tensors.
    const bool is_plain = child.kind->parameters.empty() && child.kind->children.empty();
    std::vector<Tensor*> inputs, outputs;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::string_view name = program.name_of(places[i]);
        if (!name.empty() && name.front() >= '0' && name.front() <= '9') inputs.push_back(&given[i]);
        if (!gives_back(places[i]) || !given[i].defined() || !needs_grad(given[i])) continue;
        if (is_plain) return run_program(what.program, index, std::move(given), in_unit_ || child.is_unit());
        throw Error(ErrorKind::unsupported, child.path,
                    "a module that gives back what it was given is not supported with hooks around it",
                    "DDP, ZeRO-1, ZeRO-2 or FSDP2");
    }
    ModuleHooks& hooks = *session().module_hooks;
    hooks.before_all(key_of_module(child), inputs);
    std::vector<Tensor> results = run_program(what.program, index, std::move(given), in_unit_ || child.is_unit());
    for (std::size_t i = 0; i < left.size(); ++i)
        if (gives_back(left[i])) outputs.push_back(&results[i]);
    hooks.after_all(key_of_module(child), outputs);
    return results;
}

/// trl 1.16 trainer/utils.py disable_dropout_in_model: nn.Dropout, of which attention takes the number where it does
/// not call it (5.17.0 modeling_bert.py BertSelfAttention, self.dropout.p; Persimmon's takes the configuration's).
bool RecordedFrame::dropout_is_off() const {
    if (pass_->run.spec.dropout_modules) return false;
    const network::ModuleKind& kind = *here().kind;
    if (kind.class_name == "Dropout") return true;
    const auto is_called = [&](const network::Child& child) {
        return std::any_of(program_.code.begin(), program_.code.end(), [&](const network::Instruction& instruction) {
            const auto* run = std::get_if<network::Run>(&instruction);
            return run && run->path == child.name;
        });
    };
    return kind.class_name != "PersimmonAttention" &&
           std::any_of(kind.children.begin(), kind.children.end(), [&](const network::Child& child) {
               return pass_->model.document().kinds[child.kind].class_name == "Dropout" && !is_called(child);
           });
}

/// The head has hooks of what gathers it.
Tensor RecordedFrame::call_linear(const Linear& linear, const Tensor& input) const {
    UnitHooks* const hooks = &linear == &pass_->network.head ? unit_hooks() : nullptr;
    if (!hooks) return forward(linear, input);
    const Tensor given = hooks->before_head(input);
    const Scoped<Module> in_head(session().recorder.module, {-1, session().recorder.intern("lm_head")});
    Tensor out = forward(linear, given);
    hooks->after_head(out);
    return out;
}

/// An nn.Embedding, or a class that derives from it and runs its own program.
std::vector<Tensor> RecordedFrame::call_embedding(const network::Run& what, std::uint32_t index,
                                                  std::vector<Tensor> given) {
    const RecordedModule& child = pass_->model.module(index);
    const bool is_input = child.embedding == &pass_->network.embed;
    UnitHooks* const hooks = is_input ? unit_hooks() : nullptr;
    if (hooks) hooks->before_embedding();
    std::vector<Tensor> results = call_table(what, index, std::move(given));
    if (hooks) hooks->after_embedding(results.at(0));
    return results;
}

std::vector<Tensor> RecordedFrame::call_table(const network::Run& what, std::uint32_t index,
                                              std::vector<Tensor> given) {
    const RecordedModule& child = pass_->model.module(index);
    const bool is_input = child.embedding == &pass_->network.embed;
    if (child.kind->class_name == "Embedding")
        return {is_input ? embed(pass_->network, given.at(0)) : forward(*child.embedding, given.at(0))};
    if (child.embedding->lora)
        throw Error(
            ErrorKind::unsupported, child.path,
            fmt::format("an adapter of a {}, which computes in its own way, is not supported", child.kind->class_name),
            "leave the module out");
    if (given.empty()) return run_program(what.program, index, {}, in_unit_);  // places that it counts itself
    const Tensor first = given.at(0);
    std::vector<Tensor> results;  // ProphetNet's gives back its places too
    Tensor rows = called_module(*child.embedding, first, [&](const Tensor& input) {
        given[0] = input;
        const auto look_up = [&] {
            results = run_program(what.program, index, std::move(given), in_unit_);
            return std::move(results.at(0));
        };
        const bool is_cut = child.embedding->pieces > 1;
        const Tensor out = is_cut ? cut_embedding(session(), look_up) : look_up();
        return is_input ? with_input_gradient(pass_->network.embed, out) : out;
    });
    results.at(0) = std::move(rows);
    return results;
}

}  // namespace vramfit::model
