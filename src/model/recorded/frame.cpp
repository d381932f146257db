// Instructions of recorded programs.
#include "model/recorded/frame.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "engine/ops/in_place.hpp"
#include "model/recorded/own_functions.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/version.hpp"

namespace vramfit::model {

using namespace engine;

RecordedFrame::RecordedFrame(RecordedPassPointer pass, network::Number program, std::uint32_t module, bool in_unit)
    : pass_(std::move(pass)),
      number_(program),
      program_(pass_->model.document().programs[program]),
      module_(module),
      in_unit_(in_unit),
      slots_(program_.values),
      dtypes_(program_.values, DType::float32),
      bases_(program_.values),
      on_host_(program_.values, false) {
    std::iota(bases_.begin(), bases_.end(), network::Number{0});
    if (here().bare) folded_ = std::make_unique<FoldedParameters>(*here().bare);
    makes_angles_ = here().kind->class_name.ends_with("RotaryEmbedding") &&
                    pass_->run.stack.rotary_multiplies_elements() && pass_->model.release() < Version{5, 19, 0};
    gate_is_half_ = here().kind->class_name == "HunYuanMoEV1Gate" && is_half(gate_of_hunyuan());
    if (here().kind->leaf == network::Leaf::experts) masks_.emplace(pass_->model.release(), pass_->run.stack);
}

/// The dtype of the router's weight: float32, but where shards are gathered, or the whole network is cast.
DType RecordedFrame::gate_of_hunyuan() const {
    const RecordedModule& gate = pass_->model.module(pass_->model.find(module_, "wg"));
    return gate.linear && gate.linear->weight.defined() ? gate.linear->weight.dtype() : DType::float32;
}

Tensor RecordedFrame::parameter(std::string_view path) const {
    if (folded_)
        if (Tensor sum = folded_->value(path); sum.defined()) return sum;
    return pass_->model.parameter(pass_->network, module_, path);
}

void RecordedFrame::replace_buffer(std::string_view path, Tensor tensor) const {
    pass_->model.replace_buffer(pass_->network, module_, path, std::move(tensor));
}

std::vector<Tensor> RecordedFrame::call(std::vector<Tensor> given) {
    const std::vector<network::Number> places = program_.given();
    for (std::size_t i = 0; i < places.size(); ++i) put(places[i], std::move(given[i]));
    const recorded::Operator* next = pass_->model.operators(number_).data();
    for (const network::Instruction& instruction : program_.code) {
        const recorded::Operator own = *next++;
        if (const auto* call = std::get_if<network::Call>(&instruction)) {
            if (masks_)
                execute_of_experts(*call, own);
            else
                makes_angles_ ? execute_of_angles(*call, own) : execute(*call, own);
        } else if (const auto* loop = std::get_if<network::Repeat>(&instruction)) {
            execute(*loop, next);
            next += loop->begin.size() + loop->next.size();
        } else {
            std::visit([this](const auto& other) { execute(other); }, instruction);
        }
    }
    std::vector<Tensor> results;
    for (const network::Number value : program_.left()) results.push_back(slots_[value]);
    return results;
}

/// For messages: the path, or the class of the whole.
std::string RecordedFrame::place() const { return here().path.empty() ? here().kind->class_name : here().path; }

const network::Program& RecordedFrame::program_of(const network::Run& what) const {
    return pass_->model.document().programs[what.program];
}

std::vector<Tensor> RecordedFrame::run_program(network::Number program, std::uint32_t module, std::vector<Tensor> given,
                                               bool in_unit) const {
    return RecordedFrame(pass_, program, module, in_unit).call(std::move(given));
}

void RecordedFrame::put(network::Number number, Tensor tensor) {
    if (tensor.defined()) dtypes_[number] = tensor.dtype();
    slots_[number] = std::move(tensor);
}

/// A call that is given values of the host only, and makes others, or reads one: a random number of which the code asks
/// whether a layer is left out.
bool RecordedFrame::is_call_of_host(const network::Call& call) const {
    bool of_device = false, of_host = false;
    const std::function<void(const network::Argument&)> look = [&](const network::Argument& argument) {
        if (argument.is(network::Argument::Kind::value)) (on_host_[argument.value] ? of_host : of_device) = true;
        if (argument.is(network::Argument::Kind::parameter) || argument.is(network::Argument::Kind::rounds))
            of_device = true;
        for (const network::Argument& item : argument.items) look(item);
    };
    for (const network::Argument& argument : call.arguments) look(argument);
    for (const auto& [name, argument] : call.named) look(argument);
    const bool makes_on_host = std::all_of(call.results.begin(), call.results.end(),
                                           [](const network::Result& r) { return r.on_host && r.value; });
    return !of_device && makes_on_host && (of_host || !call.results.empty());
}

/// Tensor.to(device) of what the host has made.
bool RecordedFrame::is_copied_from_host(const network::Call& call) const {
    if (call.function != "torch.Tensor.to" || call.arguments.empty() || call.results.size() != 1) return false;
    const network::Argument& given = call.arguments[0];
    const network::Result& made = call.results[0];
    return given.is(network::Argument::Kind::value) && on_host_[given.value] && !made.on_host && made.value;
}

/// ATen/native/cuda/Copy.cu copy_kernel_cuda: cast on the host, copied as it is, and the host waits. Beside a tensor it
/// takes that one's dtype, which autocast may have changed.
void RecordedFrame::copy_from_host(const network::Call& call) {
    const network::Result& made = call.results[0];
    Dims sizes;
    for (const network::Argument& size : made.sizes)
        sizes.push(size.is(network::Argument::Kind::formula) ? recorded::value_of(size.formula, pass_->symbols)
                                                             : Size(size.integer));
    const bool known = made.dtype.of == network::DTypeName::Of::name;
    DType dtype = known ? made.dtype.dtype : weights();
    if (call.arguments.size() > 1 && call.arguments[1].is(network::Argument::Kind::value))
        dtype = slots_[call.arguments[1].value].dtype();
    put(*made.value, empty(session(), sizes, dtype, Op::to_copy));
    session().streams.host_waits(0);
}

void RecordedFrame::execute(const network::Call& call, recorded::Operator run_it) {
    if (is_call_of_host(call)) {
        for (const network::Result& result : call.results) on_host_[*result.value] = true;
        return;
    }
    if (is_copied_from_host(call)) return copy_from_host(call);
    // transformers 5.17.0 modeling_hunyuan_v1_moe.py HunYuanMoEV1Gate.forward casts tokens for a weight in float32.
    if (gate_is_half_ && call.function == "torch.Tensor.float")
        return put(*call.results[0].value, slots_[call.arguments[0].value]);
    if (!run_it)
        throw Error(ErrorKind::unsupported, place(),
                    fmt::format("{} is not supported in recorded networks", call.function),
                    "report the recording, so that the engine learns it");
    const GradMode grad(session(), session().grad_enabled && !call.flags.no_grad);
    const Scoped<bool> autocast(session().autocast.enabled, session().autocast.enabled && call.flags.autocast);
    const Scoped<Module> module(session().recorder.module,
                                call.flags.loss ? session().loss : session().recorder.module);
    const recorded::Arguments arguments(*this, call);
    // transformers 5.17.0 integrations/moe.py grouped_mm_experts_forward: the first weight is read before tokens are
    // masked, and their gradients come in this order.
    if (folded_ && here().kind->leaf == network::Leaf::experts && call.function == "torch.Tensor.masked_fill_")
        folded_->value(here().bare->parameters.front().name);
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

/// transformers 5.19.0 modeling_*.py RotaryEmbedding.forward: a product of elements in one expression, where 5.17 has a
/// product of two matrices with names, which stay.
void RecordedFrame::execute_of_angles(const network::Call& call, recorded::Operator run_it) {
    std::vector<Tensor> factors;
    if (call.function == "torch.Tensor.matmul")
        for (const network::Argument& argument : call.arguments)
            if (argument.is(network::Argument::Kind::value)) factors.push_back(slots_[argument.value]);
    execute(call, run_it);
    for (const Tensor& factor : factors)
        for (Tensor& slot : slots_)
            if (slot == factor) slot.reset();
}

void RecordedFrame::execute_of_experts(const network::Call& call, recorded::Operator run_it) {
    const ExpertMasks::Step step = masks_->step(call);
    if (step == ExpertMasks::Step::skip) return;
    if (step == ExpertMasks::Step::pass_on) {
        const network::Number given = call.arguments.front().value, made = *call.results.front().value;
        if (made != given) put(made, slots_[given]);
        return;
    }
    execute(call, run_it);
    if (step == ExpertMasks::Step::run_then_mask)
        masked_fill_in_place(slots_[*call.results.front().value], slots_[masks_->mask()]);
}

void RecordedFrame::keep(const network::Call& call, const network::Result& result, Tensor made) {
    expect(call, result, made);
    if (!result.value) return;
    if (result.view.starts_with('%')) {
        network::Number base = 0;
        std::from_chars(result.view.data() + 1, result.view.data() + result.view.size(), base);
        if (base < bases_.size()) bases_[*result.value] = base;
    }
    put(*result.value, std::move(made));
    if (pass_->sharing) share(*result.value);
}

/// What a call makes has the sizes that were recorded: an operator that means something else is found here. Only
/// plain numbers are compared, so that a row is bound to no path by it.
void RecordedFrame::expect(const network::Call& call, const network::Result& result, const Tensor& made) const {
    if (!made.defined()) return;
    const recorded::Symbols& all = pass_->symbols;
    const recorded::Symbols plain{all.batch.value(), all.length.value(), all.kept.value(), all.keys.value()};
    bool same = made.dim() == static_cast<int>(result.sizes.size());
    // Of heads that are put together again the recording says the width of the whole: there are fewer in a process.
    const std::size_t compared = pass_->model.document().is_piece ? 0 : result.sizes.size();
    for (std::size_t i = 0; same && i < compared; ++i) {
        const network::Argument& size = result.sizes[i];
        const std::int64_t is = made.size(static_cast<int>(i)).value();
        if (size.is(network::Argument::Kind::integer)) same = is == size.integer;
        if (size.is(network::Argument::Kind::formula)) same = is == recorded::value_of(size.formula, plain).value();
    }
    if (same) return;
    const bool of_type = pass_->model.document().of_type;  // sizes at which a loop has other rounds (minimax)
    throw Error(of_type ? ErrorKind::unsupported : ErrorKind::invalid, place(),
                fmt::format("{} makes another shape than the recording says", call.function),
                of_type ? "ask for another batch or length" : "record the network again (tools/record)");
}

Tensor RecordedFrame::base_of(network::Number number) const {
    network::Number base = number;
    for (std::size_t i = 0; i < bases_.size() && bases_[base] != base; ++i) base = bases_[base];
    if (base == number || slots_[base].defined()) return base == number ? Tensor() : slots_[base];
    for (std::size_t i = 0; i < bases_.size(); ++i)  // under another name that it has, which ends later
        if (bases_[i] == base && slots_[i].defined() && !slots_[i]->is_view) return slots_[i];
    return {};
}

void RecordedFrame::execute(const network::End& end) {
    std::vector<std::vector<Tensor>*> kept;  // by a loop: what ends round by round
    for (const network::Number value : end.values) {
        const auto all = rounds_.find(value);
        const bool same = all != rounds_.end() && !kept.empty() && all->second.size() == kept.front()->size();
        if (!same) end_rounds(kept);
        slots_[value].reset();
        if (all != rounds_.end()) kept.push_back(&all->second);
    }
    end_rounds(kept);
}

/// CPython's list_dealloc begins with the last one.
void RecordedFrame::end_rounds(std::vector<std::vector<Tensor>*>& kept) {
    while (!kept.empty() && !kept.front()->empty())
        for (std::vector<Tensor>* all : kept) all->pop_back();
    kept.clear();
}

void RecordedFrame::execute(const network::If& condition) const {
    if (recorded::holds(condition.condition, pass_->symbols) == condition.holds) return;
    throw Error(
        ErrorKind::unsupported, place(),
        fmt::format("the recording holds only where {}{}", condition.holds ? "" : "not ", condition.condition.text),
        "ask for another batch or length (B and S)");
}

void RecordedFrame::execute(const network::Run& what) {
    std::vector<Tensor> given;
    given.reserve(what.given.size());
    for (const network::Number value : what.given) given.push_back(slots_[value]);
    for (const std::size_t place : what.takes) slots_[what.given[place]].reset();
    std::vector<Tensor> results;
    const network::Document& document = pass_->model.document();
    if (what.kind == network::Run::Kind::function) {
        const std::string& name = document.programs[what.program].class_name;
        const auto* own = recorded::own_function(document.model_type, name, given.size());
        if (!own)
            throw Error(ErrorKind::unsupported, std::string(here().path),
                        fmt::format("{}: autograd functions of the network's own are not supported", name),
                        "report the recording, so that the engine learns it");
        results.push_back(own->run(given));
    } else if (what.kind == network::Run::Kind::checkpoint) {
        results = checkpoint(what, std::move(given));
    } else {
        results = called_child(what, std::move(given));
    }
    for (std::size_t i = 0; i < results.size(); ++i) put(what.results[i], std::move(results[i]));
}

}  // namespace vramfit::model
