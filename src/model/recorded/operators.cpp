// The table of operators, and the arguments that they read.
#include "model/recorded/operators.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit::model::recorded {

using Kind = network::Argument::Kind;

Operator operator_named(std::string_view name) {
    static const auto all = [] {
        std::unordered_map<std::string_view, Operator> table;
        for (const auto operators :
             {elementwise_operators(), in_place_operators(), view_operators(), subscript_operators(), parts_operators(),
              selection_operators(), matrix_operators(), attention_operators(), liger_operators(),
              reduction_operators(), factory_operators(), asked_expert_operators(), generation_operators()})
            for (const NamedOperator& one : operators) table.emplace(one.name, one.run);
        return table;
    }();
    const auto found = all.find(name);
    return found == all.end() ? Operator() : found->second;
}

const network::Argument* Arguments::find(std::size_t place, std::string_view name) const {
    const network::Argument* found = place < count() ? &call_.arguments[place] : nullptr;
    for (const auto& [key, argument] : call_.named)
        if (key == name) found = &argument;
    return found && !found->is(Kind::none) ? found : nullptr;
}

const network::Argument& Arguments::at(std::size_t place) const {
    if (place >= count()) refuse("an argument is missing");
    return call_.arguments[place];
}

bool Arguments::is_tensor(const network::Argument& argument) {
    return argument.is(Kind::value) || argument.is(Kind::parameter);
}

bool Arguments::is_of_host(const network::Argument& argument) const {
    return argument.is(Kind::value) && scope_.is_of_host(argument.value);
}

Tensor Arguments::tensor(const network::Argument& argument) const {
    if (argument.is(Kind::value)) {
        Tensor found = scope_.value(argument.value);
        if (!found.defined()) refuse("a value that is no tensor");
        return found;
    }
    if (!argument.is(Kind::parameter)) refuse("a tensor is wanted");
    return scope_.parameter(argument.text);
}

void Arguments::replace_buffer(std::size_t place, Tensor tensor) const {
    if (!at(place).is(Kind::parameter)) refuse("a buffer is wanted");
    scope_.replace_buffer(at(place).text, std::move(tensor));
}

std::vector<Tensor> Arguments::tensors(const network::Argument& argument) const {
    if (argument.is(Kind::rounds)) return scope_.rounds(argument.value);
    std::vector<Tensor> found;
    if (argument.is(Kind::list))
        for (const network::Argument& item : argument.items) found.push_back(tensor(item));
    return found;
}

Tensor Arguments::base(std::size_t place) const {
    return at(place).is(Kind::value) ? scope_.base_of(at(place).value) : Tensor();
}

Tensor Arguments::optional_tensor(std::size_t place, std::string_view name) const {
    const network::Argument* found = find(place, name);
    return found ? tensor(*found) : Tensor();
}

Size Arguments::size(const network::Argument& argument) const {
    if (argument.is(Kind::integer)) return argument.integer;
    if (!argument.is(Kind::formula)) refuse("a size without a formula");
    return value_of(argument.formula, scope_.symbols());
}

int Arguments::integer(const network::Argument& argument) const {
    if (!argument.is(Kind::integer) || argument.integer < -1000 || argument.integer > 1000)
        refuse("a small integer is wanted");
    return static_cast<int>(argument.integer);
}

bool Arguments::flag(std::size_t place, std::string_view name, bool otherwise) const {
    const network::Argument* found = find(place, name);
    if (found && !found->is(Kind::boolean)) refuse("true or false is wanted");
    return found ? found->boolean : otherwise;
}

double Arguments::real(std::size_t place, std::string_view name, double otherwise) const {
    const network::Argument* found = find(place, name);
    if (found && !found->is(Kind::real) && !found->is(Kind::integer)) refuse("a number is wanted");
    return found ? found->real : otherwise;
}

Scalar Arguments::scalar(const network::Argument& argument) const {
    if (argument.is(Kind::real)) return argument.real;
    if (argument.is(Kind::integer) || argument.is(Kind::formula) || argument.is(Kind::boolean)) return 1;
    refuse("a number is wanted");
}

RecordedCache& Arguments::cache() const {
    if (!scope_.cache()) refuse("a pass without a cache");
    return *scope_.cache();
}

engine::Dims Arguments::sizes_in(std::span<const network::Argument> items) const {
    if (items.size() > engine::Dims::kCapacity) refuse(fmt::format("a tensor of {} dimensions", items.size()));
    engine::Dims sizes;
    for (const network::Argument& item : items) sizes.push(size(item));
    return sizes;
}

engine::Dims Arguments::dims(std::size_t place) const {
    if (place < count() && at(place).is(Kind::list)) return sizes_in(at(place).items);
    return sizes_in(std::span(call_.arguments).subspan(std::min(place, count())));
}

engine::Dims Arguments::result_sizes() const { return sizes_in(call_.results.at(0).sizes); }

std::optional<DType> Arguments::result_dtype() const { return dtype_named(call_.results.at(0).dtype); }

std::optional<DType> Arguments::dtype(const network::Argument* argument) const {
    if (!argument) return std::nullopt;
    if (argument->is(Kind::text) && argument->text == "int") return DType::int64;  // Python's type
    if (!argument->is(Kind::dtype)) refuse("a dtype is wanted");
    return dtype_named(argument->dtype);
}

std::optional<DType> Arguments::dtype_named(const network::DTypeName& name) const {
    switch (name.of) {
        case network::DTypeName::Of::name: return name.dtype;
        case network::DTypeName::Of::weights: return scope_.weights();
        case network::DTypeName::Of::autocast: return session().autocast.dtype;
        case network::DTypeName::Of::value: return scope_.dtype_of_value(name.value);
        case network::DTypeName::Of::parameter: return scope_.parameter(name.text).dtype();
        case network::DTypeName::Of::other: refuse(fmt::format("dtype {}", name.text));
    }
    return std::nullopt;
}

void Arguments::refuse(std::string_view what) const {
    throw Error(ErrorKind::unsupported, std::string(scope_.path().empty() ? "the network" : scope_.path()),
                fmt::format("{}: {} is not supported in recorded networks", call_.function, what),
                "report the recording, so that the engine learns it");
}

}  // namespace vramfit::model::recorded
