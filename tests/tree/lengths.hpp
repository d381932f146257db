// Finds functions in C++ text by counting braces.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tree {

struct Function {
    std::size_t first_line = 0;  ///< of its signature, from 1
    std::size_t last_line = 0;   ///< of its closing brace
};

/// Outermost functions, constructors, lambdas of variables and test cases, in order.
std::vector<Function> functions_in(std::string_view text);

}  // namespace tree
