// Comparisons of sizes in a type's recording with the numbers of a configuration.
#pragma once

#include <optional>
#include <string>

#include "spec/network/type.hpp"

namespace vramfit::network {

/// Two sizes, each an integer or the text of a sum of batch and length.
struct FoldedComparison {
    JsonValue left;
    Relation relation = Relation::equal;
    std::string sign;
    JsonValue right;

    std::string text() const;
    /// Both sides are the same sum: nothing is said of batch and length.
    bool is_of_one_size() const;
    /// Whether it holds; nothing where batch or length decide.
    std::optional<bool> decided() const;
};

/// "S >= sliding_window" with the numbers of these keys; nothing for a text that is no comparison. Throws as folded().
std::optional<FoldedComparison> folded_comparison(const std::string& text, const Numbers& numbers);

}  // namespace vramfit::network
