// Sizes as a recording writes them: sums of batch, length and keys of the configuration, and comparisons of such sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::network {

/// One step of a sum in postfix order.
struct FormulaStep {
    enum class Kind : std::uint8_t {
        number,
        batch,
        length,
        kept,
        keys,
        key,
        add,
        subtract,
        multiply,
        divide,
        remainder,
        negate
    };

    Kind kind = Kind::number;
    /// Of a key of the configuration its place in `Formula::keys`. `kept` are the last tokens of a row that the head
    /// takes, `keys` the places that the attention of a layer sees, with those that a cache holds; no file has them.
    std::int64_t number = 0;
};

struct Formula {
    std::vector<FormulaStep> steps;
    std::vector<std::string> keys;
};

enum class Relation : std::uint8_t { less, at_most, greater, at_least, equal, differs };

/// Whether it holds between two sizes, which may be symbols of a run.
template <class Number>
bool holds(const Number& left, Relation relation, const Number& right) {
    switch (relation) {
        case Relation::less: return left < right;
        case Relation::at_most: return left <= right;
        case Relation::greater: return left > right;
        case Relation::at_least: return left >= right;
        case Relation::equal: return left == right;
        case Relation::differs: return left != right;
    }
    return false;
}

struct Comparison {
    Formula left;
    Relation relation = Relation::equal;
    Formula right;
    std::string text;  ///< as written
};

/// "2*B*S+1"; nothing if it is no such sum, or a long one.
std::optional<Formula> parse_formula(std::string_view text);
/// "S > 1".
std::optional<Comparison> parse_comparison(std::string_view text);

}  // namespace vramfit::network
