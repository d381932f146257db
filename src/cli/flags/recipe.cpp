// The flag of a plan that stands for several others.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "cli/recipes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kBoundNote =
    "an upper bound: Unsloth's own kernels and checkpointing take less than plain transformers, which is what is "
    "predicted";
constexpr const char* kBoundHint = "vramfit check reads a script that uses Unsloth";

/// What bars Unsloth's own step; empty: nothing.
std::string bar_of(const Job& own) {
    if (!unsloth_was_compared_on(own.device.capability)) return "not compared with this GPU";
    try {
        (void)check_plan(own.model, own.plan, own.stack);
        return {};
    } catch (const Error& error) {
        return error.problems().front().what;
    }
}

// A value that a recipe says and another of its values needs comes first: flags by their turns, as given ones are.
void apply_recipe(Job& job, std::string_view value, const std::string& where) {
    const Recipe& recipe = recipe_from(value, where);
    std::vector<RecipeFlag> flags(recipe.flags.begin(), recipe.flags.end());
    std::stable_sort(flags.begin(), flags.end(), [](const RecipeFlag& a, const RecipeFlag& b) {
        return find_plan_flag(a.name)->turn < find_plan_flag(b.name)->turn;
    });
    for (const RecipeFlag& flag : flags) find_plan_flag(flag.name)->apply(job, flag.value, where);
    if (recipe.name == "llama-factory") job.plan.preference.maker = TrainerMaker::llama_factory;
    if (recipe.upper_bound) job.notes.push_back({NoteKind::upper_bound, kBoundNote, kBoundHint});
}

constexpr PlanFlag kRecipeFlags[] = {
    {"recipe", "", "NAME", nullptr, "Model",
     "A documented set of flags, which other flags override: paper, qlora, qlora-paper, trl-sft, axolotl, "
     "llama-factory, unsloth or full (docs/recipes.md) [none]",
     apply_recipe, -1},
};

}  // namespace

void settle_unsloth_recipe(Job& job, const IsGiven& given) {
    const auto note =
        std::find_if(job.notes.begin(), job.notes.end(), [](const Note& n) { return n.text == kBoundNote; });
    if (note == job.notes.end() || job.plan.loop.kind != LoopKind::unsloth) return;
    Job own = job;
    complete_unsloth(own, given);
    const std::string bar = bar_of(own);
    if (bar.empty()) {
        job.notes.erase(note);
        return;
    }
    note->text = fmt::format("{}: {}", kBoundNote, bar);
    TrainingPlan& training = job.plan.training;
    if (training.use_liger_kernel)
        throw Error(ErrorKind::unsupported, "--use_liger_kernel",
                    "Liger's loss takes less than Unsloth's own may: plain transformers with it is no upper bound",
                    "leave it out");
    job.plan.loop.kind = LoopKind::trainer;
    if (!training.fp16) training.bf16 = true;
}

std::span<const PlanFlag> recipe_flags() { return kRecipeFlags; }

}  // namespace vramfit::cli
