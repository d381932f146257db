// Comparisons of sizes as the recorder writes them: three words.
#include "spec/network/type_condition.hpp"

#include <fmt/format.h>

namespace vramfit::network {

namespace {

std::string word_of(const JsonValue& side) {
    return side.kind == JsonKind::integer ? fmt::format("{}", side.integer) : side.text;
}

}  // namespace

std::string FoldedComparison::text() const { return fmt::format("{} {} {}", word_of(left), sign, word_of(right)); }

bool FoldedComparison::is_of_one_size() const { return word_of(left) == word_of(right); }

std::optional<bool> FoldedComparison::decided() const {
    if (left.kind != JsonKind::integer || right.kind != JsonKind::integer) return std::nullopt;
    return holds(left.integer, relation, right.integer);
}

std::optional<FoldedComparison> folded_comparison(const std::string& text, const Numbers& numbers) {
    const auto comparison = parse_comparison(text);
    if (!comparison) return std::nullopt;
    const std::size_t one = text.find(' '), two = text.find(' ', one + 1);
    return FoldedComparison{folded(text.substr(0, one), numbers), comparison->relation,
                            text.substr(one + 1, two - one - 1), folded(text.substr(two + 1), numbers)};
}

}  // namespace vramfit::network
