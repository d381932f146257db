// What rewritings of recorded programs ask of their instructions.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "spec/network/document.hpp"

namespace vramfit::network {

inline constexpr std::string_view kSdpa = "torch.nn.functional.scaled_dot_product_attention";

/// Another program of the document: its number.
inline Number add(Document& document, Program program) {
    document.programs.push_back(std::move(program));
    return static_cast<Number>(document.programs.size() - 1);
}

inline Argument value(Number number) {
    Argument out;
    out.kind = Argument::Kind::value;
    out.value = number;
    return out;
}

inline bool is_value(const Argument& argument, std::optional<Number> number) {
    return argument.is(Argument::Kind::value) && number && argument.value == *number;
}

/// A call of a module; null: the instruction is none.
inline const Run* module_run(const Instruction& instruction) {
    const auto* run = std::get_if<Run>(&instruction);
    return run && run->kind == Run::Kind::module ? run : nullptr;
}

/// Calls `visit` with each value among a call's arguments.
template <class Visit>
void for_each_value(const Call& call, const Visit& visit) {
    const auto look = [&](const auto& again, const Argument& argument) -> void {
        if (argument.is(Argument::Kind::value)) visit(argument.value);
        for (const Argument& item : argument.items) again(again, item);
    };
    for (const Argument& argument : call.arguments) look(look, argument);
    for (const auto& [name, argument] : call.named) look(look, argument);
}

inline void rename(Argument& argument, Number from, Number to) {
    if (is_value(argument, from)) argument.value = to;
    for (Argument& item : argument.items) rename(item, from, to);
}

/// Every mention of a value, but in loops.
inline void rename(Instruction& instruction, Number from, Number to) {
    if (auto* run = std::get_if<Run>(&instruction)) std::replace(run->given.begin(), run->given.end(), from, to);
    if (auto* end = std::get_if<End>(&instruction)) std::replace(end->values.begin(), end->values.end(), from, to);
    auto* const call = std::get_if<Call>(&instruction);
    if (!call) return;
    for (Argument& argument : call->arguments) rename(argument, from, to);
    for (auto& [name, argument] : call->named) rename(argument, from, to);
    for (Result& result : call->results)
        if (result.view == fmt::format("%{}", from)) result.view = fmt::format("%{}", to);
}

/// In formulas the length of rows becomes another size.
inline void count_instead_of_length(Argument& argument, FormulaStep::Kind by) {
    for (FormulaStep& step : argument.formula.steps)
        if (step.kind == FormulaStep::Kind::length) step.kind = by;
    for (Argument& item : argument.items) count_instead_of_length(item, by);
}

inline bool is_call(const Instruction& instruction, std::string_view function) {
    const auto* call = std::get_if<Call>(&instruction);
    return call && call->function == function;
}

/// A call of that function with one result; null: the instruction is none.
inline const Call* call_of(const Instruction& instruction, std::string_view function) {
    const auto* call = std::get_if<Call>(&instruction);
    return call && call->function == function && call->results.size() == 1 && call->results[0].value ? call : nullptr;
}

inline Number made_by(const Call& call) { return *call.results[0].value; }

/// Whether the call has the value at that place.
inline bool takes(const Call& call, std::size_t place, std::optional<Number> number) {
    return place < call.arguments.size() && is_value(call.arguments[place], number);
}

/// Such a call whose first argument is the value.
inline const Call* call_on(const Instruction& instruction, std::string_view function, std::optional<Number> number) {
    const Call* const call = call_of(instruction, function);
    return call && takes(*call, 0, number) ? call : nullptr;
}

inline bool ends(const Instruction& instruction, Number number) {
    const auto* end = std::get_if<End>(&instruction);
    return end && std::find(end->values.begin(), end->values.end(), number) != end->values.end();
}

/// The end of nothing, as `forget` may leave it.
inline bool is_empty(const Instruction& instruction) {
    const auto* end = std::get_if<End>(&instruction);
    return end && end->values.empty();
}

/// A value that is not made any more has no end.
inline void forget(std::vector<Instruction>& code, Number number) {
    for (Instruction& instruction : code)
        if (auto* end = std::get_if<End>(&instruction)) std::erase(end->values, number);
}

}  // namespace vramfit::network
