// What rewritings of recorded programs ask of their instructions.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

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
