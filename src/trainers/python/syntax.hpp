// Python's statements and expressions as trees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vramfit/trainers/place.hpp"

namespace vramfit::trainers::python {

struct Expression {
    enum class Kind : unsigned char {
        name,
        number,
        text,
        format,       ///< f"...": items are its parts
        attribute,    ///< items[0].text
        subscript,    ///< items[0][items[1]]
        call,         ///< items[0](names[i] = items[i])
        list,         ///< also tuples and sets
        dict,         ///< items: key, value, key, value
        unary,        ///< text: the sign
        binary,       ///< text: the sign
        comparison,   ///< text: the sign
        logic,        ///< text: and, or
        conditional,  ///< items[0] if items[1] else items[2]
        opaque        ///< is not followed: slices, lambdas, comprehensions, await
    };

    Kind kind = Kind::opaque;
    Place place{};
    std::string text{};
    std::vector<Expression> items{};
    std::vector<std::string> names{};  ///< call: of each item but the first: a keyword, "", "*" or "**"
    std::vector<Place> places{};       ///< call: where each of these begins
    std::string_view source{};         ///< as it is written
};

using ExpressionKind = Expression::Kind;

struct Statement {
    enum class Kind : unsigned char {
        pass,
        expression,  ///< also assert, raise, del
        assign,      ///< a = b = items.back()
        augment,     ///< items[0] text= items[1]
        branch,      ///< if items[0]: body else: other
        loop,        ///< for items[0] in items[1], while items[0]
        attempt,     ///< try: body; blocks: handlers; then other
        with,
        function,  ///< text(names = items), body
        type,      ///< class text(items): body
        give,      ///< return items[0], if there is one
        import     ///< names[i] stands for words[i]
    };

    Kind kind = Kind::pass;
    Place place{};
    std::string text{};
    std::vector<Expression> items{};
    std::vector<std::string> names{};
    std::vector<std::string> words{};
    std::vector<Statement> body{};
    std::vector<Statement> other{};
    std::vector<std::vector<Statement>> blocks{};
};

using StatementKind = Statement::Kind;

/// Throws Error (invalid) with the place of what is no Python.
std::vector<Statement> statements_of(std::string_view text, const std::string& file);

}  // namespace vramfit::trainers::python
