// Tokens of Python: names, numbers, texts, signs, ends of lines and changes of indentation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vramfit/trainers/place.hpp"

namespace vramfit::trainers::python {

struct Token {
    enum class Kind : unsigned char { name, number, text, sign, newline, indent, dedent, end };

    Kind kind = Kind::end;
    std::string text;  ///< texts: what they hold
    bool is_format = false;
    Place place;
    std::size_t begin = 0;  ///< in the source
    std::size_t end = 0;
};

/// Python's lines joined where brackets or backslashes join them. Lines of notebooks that begin with % or ! are `pass`.
/// Throws Error (invalid) for texts and brackets without an end.
std::vector<Token> tokens_of(std::string_view text, const std::string& file);

}  // namespace vramfit::trainers::python
