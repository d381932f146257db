// What programs of a recorded network call and are given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <variant>

#include "spec/network/document.hpp"

namespace vramfit {

/// Calls `visit` with the program and all that run inside of it, each as often as it is run.
inline void for_each_program(const network::Document& document, network::Number number,
                             const std::function<void(const network::Program&)>& visit) {
    const network::Program& program = document.programs[number];
    visit(program);
    for (const network::Instruction& instruction : program.code)
        if (const auto* run = std::get_if<network::Run>(&instruction)) for_each_program(document, run->program, visit);
}

/// How often something calls the function in a pass through a variant.
inline std::size_t calls_of(const network::Document& document, const network::Variant& variant,
                            std::string_view function) {
    std::size_t found = 0;
    for_each_program(document, variant.program, [&](const network::Program& program) {
        for (const network::Instruction& instruction : program.code)
            if (const auto* call = std::get_if<network::Call>(&instruction)) found += call->function == function;
    });
    return found;
}

inline bool is_given(const network::Program& program, std::string_view name) {
    return std::any_of(program.inputs.begin(), program.inputs.end(),
                       [&](const network::Input& input) { return input.name == name; });
}

}  // namespace vramfit
