// The flag of a plan that stands for several others.
#include <algorithm>
#include <string>
#include <vector>

#include "cli/flags/tables.hpp"
#include "cli/recipes.hpp"

namespace vramfit::cli {

namespace {

// A value that a recipe says and another of its values needs comes first: flags by their turns, as given ones are.
void apply_recipe(Job& job, std::string_view value, const std::string& where) {
    const Recipe& recipe = recipe_from(value, where);
    std::vector<RecipeFlag> flags(recipe.flags.begin(), recipe.flags.end());
    std::stable_sort(flags.begin(), flags.end(), [](const RecipeFlag& a, const RecipeFlag& b) {
        return find_plan_flag(a.name)->turn < find_plan_flag(b.name)->turn;
    });
    for (const RecipeFlag& flag : flags) find_plan_flag(flag.name)->apply(job, flag.value, where);
    if (recipe.upper_bound)
        job.notes.push_back({NoteKind::upper_bound,
                             "an upper bound: Unsloth's own kernels and checkpointing take less than plain "
                             "transformers, which is what is predicted",
                             "vramfit check reads a script that uses Unsloth"});
}

constexpr PlanFlag kRecipeFlags[] = {
    {"recipe", "", "NAME", nullptr, "Model",
     "A documented set of flags, which other flags override: paper, qlora, qlora-paper, trl-sft, axolotl, "
     "llama-factory, unsloth or full (docs/recipes.md) [none]",
     apply_recipe, -1},
};

}  // namespace

std::span<const PlanFlag> recipe_flags() { return kRecipeFlags; }

}  // namespace vramfit::cli
