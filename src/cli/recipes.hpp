// Recipes: documented bundles of flags, one row each.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vramfit::cli {

/// A flag of the table of plan flags with its value.
struct RecipeFlag {
    std::string_view name;
    std::string_view value;
};

struct Recipe {
    std::string_view name;
    std::string_view summary;  ///< what it is, for help and docs
    std::string_view source;   ///< where its values stand
    std::span<const RecipeFlag> flags;
    bool paper_space = false;  ///< vramfit sweep: the paper's ranks, batches, lengths and targets, and no more
    bool upper_bound = false;  ///< where its loop is not predicted, plain transformers is its upper bound
};

std::span<const Recipe> recipes();

/// The recipe of that name. Throws Error (invalid) with the nearest one.
const Recipe& recipe_from(std::string_view name, const std::string& where);

/// Whether the recipe says something about the flag.
bool sets(const Recipe& recipe, std::string_view flag);

/// What it says; empty: nothing.
std::string_view value_of(const Recipe& recipe, std::string_view flag);

}  // namespace vramfit::cli
