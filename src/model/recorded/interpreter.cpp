// Frames, instructions and modes of recorded programs.
#include "model/recorded/interpreter.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "engine/autocast.hpp"
#include "engine/checkpoint.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/network/unit_hooks.hpp"
#include "model/recorded/operators.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What all programs of a pass share; checkpointed units keep it until they have run again.
struct Pass {
    const Run& run;
    const Network& network;
    const RecordedModel& model;
    RecordedWindows windows;
    recorded::Symbols symbols;
    std::size_t units = 0;        ///< that have begun
    bool units_are_over = false;  ///< the last one's output has gone on
};

using PassPointer = std::shared_ptr<Pass>;

std::vector<Tensor> run_program(const PassPointer& pass, network::Number program, std::uint32_t module,
                                std::vector<Tensor> given, bool in_unit);

std::string_view name_of_input(const network::Program& program, network::Number value) {
    for (const network::Input& input : program.inputs)
        if (input.what.value == value) return input.name;
    return {};
}

/// One call of a program: its values by number, freed when they end.
class RecordedFrame : public recorded::Scope {
  public:
    RecordedFrame(PassPointer pass, network::Number program, std::uint32_t module, bool in_unit)
        : pass_(std::move(pass)),
          number_(program),
          program_(pass_->model.document().programs[program]),
          module_(module),
          in_unit_(in_unit),
          slots_(program_.values),
          dtypes_(program_.values, DType::float32) {}

    std::vector<Tensor> call(std::vector<Tensor> given) {
        const std::vector<network::Number> places = program_.given();
        for (std::size_t i = 0; i < places.size(); ++i) put(places[i], std::move(given[i]));
        const auto& operators = pass_->model.operators(number_);
        for (std::size_t i = 0; i < program_.code.size(); ++i) {
            const network::Instruction& instruction = program_.code[i];
            if (const auto* call = std::get_if<network::Call>(&instruction))
                execute(*call, operators[i]);
            else
                std::visit([this](const auto& other) { execute(other); }, instruction);
        }
        std::vector<Tensor> results;
        for (const network::Number value : program_.left()) results.push_back(slots_[value]);
        return results;
    }

    /// A call of a module alone, which this program contains.
    std::vector<Tensor> call_base(const network::Run& what, std::vector<Tensor> given) {
        return called_child(what, std::move(given));
    }

    Tensor value(network::Number number) const override { return slots_[number]; }
    Tensor parameter(std::string_view path) const override {
        return pass_->model.parameter(pass_->network, module_, path);
    }
    DType dtype_of_value(network::Number number) const override { return dtypes_[number]; }
    DType weights() const override { return pass_->run.plan.load.dtype; }
    const recorded::Symbols& symbols() const override { return pass_->symbols; }
    Session& session() const override { return pass_->run.session; }
    const Run& run() const override { return pass_->run; }
    std::string_view path() const override { return here().path; }

  private:
    const RecordedModule& here() const { return pass_->model.module(module_); }
    /// For messages: the path, or the class of the whole.
    std::string place() const { return here().path.empty() ? here().kind->class_name : here().path; }
    void put(network::Number number, Tensor tensor) {
        if (tensor.defined()) dtypes_[number] = tensor.dtype();
        slots_[number] = std::move(tensor);
    }

    void execute(const network::Call& call, recorded::Operator run_it) {
        if (!run_it)
            throw Error(ErrorKind::unsupported, place(),
                        fmt::format("{} is not supported in recorded networks", call.function),
                        "report the recording, so that the engine learns it");
        const GradMode grad(session(), session().grad_enabled && !call.flags.no_grad);
        const Scoped<bool> autocast(session().autocast.enabled, session().autocast.enabled && call.flags.autocast);
        const Scoped<Module> module(session().recorder.module,
                                    call.flags.loss ? session().loss : session().recorder.module);
        const recorded::Arguments arguments(*this, call);
        if (run_it.one) {
            Tensor made = run_it.one(arguments);
            if (call.results.size() > 1) arguments.refuse("several results");
            if (!call.results.empty()) keep(call, call.results[0], std::move(made));
            return;
        }
        std::vector<Tensor> made = run_it.several(arguments);
        if (made.size() != call.results.size()) arguments.refuse("another number of results");
        for (std::size_t i = 0; i < made.size(); ++i) keep(call, call.results[i], std::move(made[i]));
    }
    void execute(const network::Call&) {}
    void keep(const network::Call& call, const network::Result& result, Tensor made) {
        expect(call, result, made);
        if (result.value) put(*result.value, std::move(made));
    }
    /// What a call makes has the sizes that were recorded: an operator that means something else is found here. Only
    /// plain numbers are compared, so that a row is bound to no path by it.
    void expect(const network::Call& call, const network::Result& result, const Tensor& made) const {
        if (!made.defined()) return;
        const recorded::Symbols plain{pass_->symbols.batch.value(), pass_->symbols.length.value()};
        bool same = made.dim() == static_cast<int>(result.sizes.size());
        for (std::size_t i = 0; same && i < result.sizes.size(); ++i) {
            const network::Argument& size = result.sizes[i];
            const std::int64_t is = made.size(static_cast<int>(i)).value();
            if (size.is(network::Argument::Kind::integer)) same = is == size.integer;
            if (size.is(network::Argument::Kind::formula)) same = is == recorded::value_of(size.formula, plain).value();
        }
        if (same) return;
        throw Error(ErrorKind::invalid, place(),
                    fmt::format("{} makes another shape than the recording says", call.function),
                    "record the network again (tools/record)");
    }
    void execute(const network::End& end) {
        for (const network::Number value : end.values) slots_[value].reset();
    }
    void execute(const network::If& condition) const {
        if (recorded::holds(condition.condition, pass_->symbols) == condition.holds) return;
        throw Error(
            ErrorKind::unsupported, place(),
            fmt::format("the recording holds only where {}{}", condition.holds ? "" : "not ", condition.condition.text),
            "ask for another batch or length (B and S)");
    }
    void execute(const network::Run& what) {
        std::vector<Tensor> given;
        given.reserve(what.given.size());
        for (const network::Number value : what.given) given.push_back(slots_[value]);
        for (const std::size_t place : what.takes) slots_[what.given[place]].reset();
        std::vector<Tensor> results;
        if (what.kind == network::Run::Kind::function)
            throw Error(ErrorKind::unsupported, std::string(here().path),
                        fmt::format("{}: autograd functions of the network's own are not supported",
                                    pass_->model.document().programs[what.program].class_name),
                        "report the recording, so that the engine learns it");
        if (what.kind == network::Run::Kind::checkpoint)
            results = checkpoint(what, std::move(given));
        else
            results = called_child(what, std::move(given));
        for (std::size_t i = 0; i < results.size(); ++i) put(what.results[i], std::move(results[i]));
    }

    UnitHooks* unit_hooks() const { return pass_->network.hooks; }

    /// The window of a layer: it begins outside of what checkpoints it, but behind the hooks of what shares it.
    void begin_unit(int unit, const Tensor& hidden) {
        if (session().recomputing) return;
        pass_->units = static_cast<std::size_t>(unit) + 1;
        pass_->windows.layer(unit, hidden);
    }
    bool begins_head(const RecordedModule& child) const {
        if (in_unit_ || pass_->units_are_over || child.is_unit()) return false;
        return pass_->units > 0 && pass_->units == pass_->model.units();
    }

    std::vector<Tensor> called_child(const network::Run& what, std::vector<Tensor> given) {
        const std::uint32_t index = pass_->model.find(module_, what.path);
        const RecordedModule& child = pass_->model.module(index);
        if (child.is_unit()) return called_unit(what, index, child, std::move(given));
        if (unit_hooks() && child.is_final_norm) given[0] = unit_hooks()->before_norm(unit_hooks()->cast(given.at(0)));
        const bool head = begins_head(child);
        if (head) {
            pass_->units_are_over = true;
            pass_->windows.head(given.at(0));
        }
        std::vector<Tensor> results = call_module(what, index, child, std::move(given));
        if (head) session().begin_loss();
        return results;
    }

    /// A decoder layer: with hooks of its own inside of what checkpoints it, if they are not around that.
    std::vector<Tensor> called_unit(const network::Run& what, std::uint32_t index, const RecordedModule& child,
                                    std::vector<Tensor> given) {
        UnitHooks* const hooks = unit_hooks();
        const bool hooked = hooks && !(in_unit_ && hooks->around_checkpoints());
        if (!hooked) {
            if (!in_unit_) begin_unit(child.unit, given.at(0));
            return call_module(what, index, child, std::move(given));
        }
        for (Tensor& t : given) t = hooks->cast(t);
        const std::vector<Tensor> arguments = given;  // torch's Module._call_impl holds what it is called with
        enter_unit(child, given);
        std::vector<Tensor> results = call_module(what, index, child, std::move(given));
        leave_unit(child, results);
        return results;
    }
    void enter_unit(const RecordedModule& unit, std::vector<Tensor>& given) {
        for (std::size_t i = 1; i < given.size(); ++i)
            if (given[i].defined() && needs_grad(given[i]))
                refuse_hooks(unit, "is given several tensors that need gradients");
        given[0] = unit_hooks()->before_layer(static_cast<std::size_t>(unit.unit), given.at(0));
        begin_unit(unit.unit, given[0]);
    }
    void leave_unit(const RecordedModule& unit, const std::vector<Tensor>& results) {
        if (results.size() != 1) refuse_hooks(unit, "gives back several tensors");
        unit_hooks()->after_layer(static_cast<std::size_t>(unit.unit), results[0]);
    }
    [[noreturn]] void refuse_hooks(const RecordedModule& unit, std::string_view what) const {
        throw Error(ErrorKind::unsupported, unit.path,
                    fmt::format("a decoder layer that {} is not supported with FSDP", what), "DDP or ZeRO");
    }

    std::vector<Tensor> call_module(const network::Run& what, std::uint32_t index, const RecordedModule& child,
                                    std::vector<Tensor> given) {
        if (child.linear) return {call_linear(*child.linear, given.at(0))};
        if (child.embedding) return {call_embedding(what, index, child, std::move(given))};
        if (child.norm && given.size() == 1)
            return {called_module(*child.norm, given.at(0), [&](const Tensor& input) {
                return run_program(pass_, what.program, index, {input}, in_unit_).at(0);
            })};
        const bool in_layer = child.is_unit() || session().recorder.module.layer >= 0;
        const InModule scope(session(), in_layer ? std::string_view(child.path) : std::string_view());
        const auto forward_of = [&](std::vector<Tensor> with) {
            return run_program(pass_, what.program, index, std::move(with), in_unit_ || child.is_unit());
        };
        if (!session().module_hooks) return forward_of(std::move(given));
        return between_hooks(pass_->model.document().programs[what.program], child, std::move(given), forward_of);
    }

    /// A module of the network's own between what is hung around it: hooks see positional arguments, and what is given
    /// back.
    template <class Forward>
    std::vector<Tensor> between_hooks(const network::Program& program, const RecordedModule& child,
                                      std::vector<Tensor> given, const Forward& forward_of) {
        ModuleHooks& hooks = *session().module_hooks;
        const ModuleKey key = key_of_module(child);
        const std::vector<network::Number> places = program.given();
        std::vector<Tensor*> inputs;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const std::string_view name = name_of_input(program, places[i]);
            if (!name.empty() && name.front() >= '0' && name.front() <= '9') inputs.push_back(&given[i]);
            for (const network::Output& output : program.outputs)
                if (output.value == places[i] && given[i].defined() && needs_grad(given[i]))
                    throw Error(ErrorKind::unsupported, child.path,
                                "a module that gives back what it was given is not supported with hooks around it",
                                "DDP, ZeRO-1, ZeRO-2 or FSDP2");
        }
        hooks.before_all(key, inputs);
        std::vector<Tensor> results = forward_of(std::move(given));
        std::vector<Tensor*> outputs;
        const std::vector<network::Number> left = program.left();
        for (std::size_t i = 0; i < left.size(); ++i)
            for (const network::Output& output : program.outputs)
                if (output.value == left[i]) {
                    outputs.push_back(&results[i]);
                    break;
                }
        hooks.after_all(key, outputs);
        return results;
    }

    /// The head has hooks of what gathers it.
    Tensor call_linear(const Linear& linear, const Tensor& input) const {
        UnitHooks* const hooks = &linear == &pass_->network.head ? unit_hooks() : nullptr;
        if (!hooks) return forward(linear, input);
        const Tensor given = hooks->before_head(hooks->cast(input));
        const Scoped<Module> in_head(session().recorder.module, {-1, session().recorder.intern("lm_head")});
        Tensor out = forward(linear, given);
        hooks->after_head(out);
        return out;
    }

    /// An nn.Embedding, or a class that derives from it and runs its own program.
    Tensor call_embedding(const network::Run& what, std::uint32_t index, const RecordedModule& child,
                          std::vector<Tensor> given) {
        const bool is_input = child.embedding == &pass_->network.embed;
        UnitHooks* const hooks = is_input ? unit_hooks() : nullptr;
        if (hooks) hooks->before_embedding();
        Tensor out = table_forward(what, index, child, std::move(given), is_input);
        if (hooks) hooks->after_embedding(out);
        return out;
    }
    Tensor table_forward(const network::Run& what, std::uint32_t index, const RecordedModule& child,
                         std::vector<Tensor> given, bool is_input) {
        if (child.kind->class_name == "Embedding")
            return is_input ? embed(pass_->network, given.at(0)) : forward(*child.embedding, given.at(0));
        if (child.embedding->lora)
            throw Error(ErrorKind::unsupported, child.path,
                        fmt::format("an adapter of a {}, which computes in its own way, is not supported",
                                    child.kind->class_name),
                        "leave the module out");
        const Tensor first = given.at(0);
        return called_module(*child.embedding, first, [&](const Tensor& input) {
            given[0] = input;
            const Tensor out = run_program(pass_, what.program, index, std::move(given), in_unit_).at(0);
            return is_input ? with_input_gradient(pass_->network.embed, out) : out;
        });
    }

    /// In which order a unit's function lets go of what it closes over: that of the call's arguments, tuples from
    /// behind.
    std::vector<std::size_t> order_of_closure(const network::Program& unit) const {
        const std::vector<network::Number> places = unit.given();
        std::vector<std::string_view> names(places.size());
        const auto* inner = unit.code.empty() ? nullptr : std::get_if<network::Run>(&unit.code.front());
        if (inner) {
            const network::Program& called = pass_->model.document().programs[inner->program];
            const std::vector<network::Number> given = called.given();
            for (std::size_t i = 0; i < given.size(); ++i)
                for (std::size_t place = 0; place < places.size(); ++place)
                    if (inner->given[i] == places[place]) names[place] = name_of_input(called, given[i]);
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

    /// torch.utils.checkpoint: named inputs are arguments, the others are what the unit closes over.
    std::vector<Tensor> checkpoint(const network::Run& what, std::vector<Tensor> given) {
        const network::Program& unit_program = pass_->model.document().programs[what.program];
        const std::vector<network::Number> places = unit_program.given();
        const RecordedModule* const around = unit_inside(unit_program);
        UnitHooks* const hooks = around ? unit_hooks() : nullptr;
        const bool hooked = hooks && hooks->around_checkpoints();
        if (hooked)
            enter_unit(*around, given);
        else if (!hooks)
            begin_unit(around ? around->unit : static_cast<int>(pass_->units), given.at(0));
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
        for (const std::size_t place : order_of_closure(unit_program))
            kept.emplace_back(place, std::move(given[place]));
        const Unit unit = [pass = pass_, program = what.program, module = module_, count = places.size(),
                           kept = std::move(kept), is_argument](std::span<const Tensor> called_with) {
            std::vector<Tensor> all(count);
            for (const auto& [place, tensor] : kept) all[place] = tensor;
            for (std::size_t i = 0; i < is_argument.size(); ++i) all[is_argument[i]] = called_with[i];
            return run_program(pass, program, module, std::move(all), true).at(0);
        };
        if (what.results.size() != 1 || arguments.empty())
            throw Error(ErrorKind::unsupported, std::string(here().path),
                        "a checkpointed unit with several results, or without arguments, is not supported",
                        "turn gradient checkpointing off");
        std::vector<Tensor> results = {pass_->network.checkpointing == Checkpointing::reentrant
                                           ? checkpoint_reentrant(unit, arguments)
                                           : checkpoint_non_reentrant(unit, arguments)};
        if (hooked) leave_unit(*around, results);
        return results;
    }
    /// The decoder layer that a checkpointed unit calls; null: another module, or several.
    const RecordedModule* unit_inside(const network::Program& unit) const {
        const auto* inner = unit.code.empty() ? nullptr : std::get_if<network::Run>(&unit.code.front());
        if (!inner || inner->kind != network::Run::Kind::module) return nullptr;
        const RecordedModule& called = pass_->model.module(pass_->model.find(module_, inner->path));
        return called.is_unit() ? &called : nullptr;
    }

    PassPointer pass_;
    network::Number number_;
    const network::Program& program_;
    std::uint32_t module_;
    bool in_unit_;
    std::vector<Tensor> slots_;
    std::vector<DType> dtypes_;
};

std::vector<Tensor> run_program(const PassPointer& pass, network::Number program, std::uint32_t module,
                                std::vector<Tensor> given, bool in_unit) {
    return RecordedFrame(pass, program, module, in_unit).call(std::move(given));
}

bool answers(const network::Variant& variant, const RecordedQuestion& question, DType weights, bool autocast) {
    if (variant.attention != question.attention || variant.mask != question.mask || variant.use_cache ||
        variant.labels != question.labels || variant.items != question.items ||
        variant.checkpointing != question.checkpointing)
        return false;
    if (!variant.weights.empty() && (variant.weights == "16 bit") != is_half(weights)) return false;
    if (variant.autocast && *variant.autocast != autocast) return false;
    return !variant.one_row || question.batch == 1;
}

}  // namespace

const network::Variant& variant_for(const RecordedModel& model, const RecordedQuestion& question, DType weights,
                                    bool autocast) {
    const network::Document& document = model.document();
    const auto found = std::find_if(document.variants.begin(), document.variants.end(),
                                    [&](const network::Variant& v) { return answers(v, question, weights, autocast); });
    const std::string asked =
        fmt::format("attention {}, mask {}, {}labels, {}checkpointing{}", question.attention, question.mask,
                    question.labels ? "" : "no ", question.checkpointing ? "" : "no ",
                    question.items ? ", num_items_in_batch" : "");
    if (found == document.variants.end())
        throw Error(ErrorKind::unsupported, document.file, fmt::format("no recorded variant has {}", asked),
                    "record the network with --variants all");
    if (found->only || found->not_fitted > 0)
        throw Error(ErrorKind::unsupported, document.file,
                    fmt::format("the variant with {} was not recorded for all sizes", asked),
                    "its calls depend on sizes in a way that no formula says");
    return *found;
}

namespace {

/// Outputs of a program that it has made, by their names.
std::vector<NamedTensor> named_outputs(const network::Program& program, const std::vector<Tensor>& results) {
    std::vector<NamedTensor> outputs;
    const std::vector<network::Number> left = program.left();
    for (const network::Output& output : program.outputs)
        for (std::size_t i = 0; i < left.size(); ++i)
            if (output.value == left[i]) outputs.push_back({output.name, results[i]});
    return outputs;
}

const NamedTensor* named(const std::vector<NamedTensor>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const NamedTensor& n) { return n.name == name; });
    return found == all.end() || !found->tensor.defined() ? nullptr : &*found;
}

/// The call of a module, in what has the head.
const network::Run* call_of(const network::Program& program, std::string_view path) {
    for (const network::Instruction& instruction : program.code)
        if (const auto* run = std::get_if<network::Run>(&instruction);
            run && run->kind == network::Run::Kind::module && run->path == path)
            return run;
    return nullptr;
}

}  // namespace

Tensor run_recorded_base(const Run& run, const Network& network, const RecordedModel& model,
                         const network::Variant& variant, const std::vector<NamedTensor>& given,
                         const RecordedWindows& windows) {
    const network::Document& document = model.document();
    const network::Program& whole = document.programs[variant.program];
    const network::Run* call = model.base().empty() ? nullptr : call_of(whole, model.base());
    const auto refuse = [&](std::string what) {
        throw Error(ErrorKind::unsupported, document.file, std::move(what),
                    "\"trainer\" is transformers' own loop, which runs the whole network");
    };
    if (!call) refuse("trl's loss calls the network without its head, which was not recorded as a module");
    std::vector<Tensor> arguments;
    for (const network::Number value : call->given) {
        const std::string_view name = name_of_input(whole, value);
        const NamedTensor* found = named(given, name);
        // The number of labels goes to the loss only, and through the network in **kwargs.
        if (!found && name != "num_items_in_batch")
            refuse(fmt::format("the network without its head is given '{}', which trl does not give", name));
        arguments.push_back(found ? found->tensor : Tensor());
    }
    const Tensor& ids = arguments.at(0);
    const auto pass = std::make_shared<Pass>(Pass{run, network, model, windows, {ids.size(0), ids.size(1)}, 0, false});
    std::vector<Tensor> results = RecordedFrame(pass, variant.program, 0, false).call_base(*call, std::move(arguments));
    const auto outputs = named_outputs(document.programs[call->program], results);
    const NamedTensor* hidden = named(outputs, "last_hidden_state");
    if (!hidden) refuse("the network without its head gives no last_hidden_state");
    if (!pass->units_are_over) {
        windows.head(hidden->tensor);
        run.session.begin_loss();
    }
    return hidden->tensor;
}

const network::Variant& variant_for_base(const RecordedModel& model, RecordedQuestion question, DType weights,
                                         bool autocast) {
    for (const bool labels : {true, false})
        for (const bool items : {true, false}) {
            question.labels = labels;
            question.items = items;
            for (const network::Variant& v : model.document().variants)
                if (answers(v, question, weights, autocast)) return variant_for(model, question, weights, autocast);
        }
    question.labels = question.items = true;
    return variant_for(model, question, weights, autocast);
}

std::vector<NamedTensor> run_recorded(const Run& run, const Network& network, const RecordedModel& model,
                                      const network::Variant& variant, const std::vector<NamedTensor>& given,
                                      const RecordedWindows& windows) {
    const network::Program& program = model.document().programs[variant.program];
    std::vector<Tensor> arguments;
    for (const network::Number place : program.given()) {
        const std::string_view name = name_of_input(program, place);
        const NamedTensor* found = named(given, name);
        if (!found)
            throw Error(ErrorKind::unsupported, model.document().file,
                        fmt::format("the network is given '{}', which no loop has", name), "record another variant");
        arguments.push_back(found->tensor);
    }
    const Tensor& ids = arguments.at(0);
    const auto pass = std::make_shared<Pass>(Pass{run, network, model, windows, {ids.size(0), ids.size(1)}, 0, false});
    std::vector<Tensor> results = run_program(pass, variant.program, 0, std::move(arguments), false);
    return named_outputs(program, results);
}

}  // namespace vramfit::model
