// Recipes: what they set, that flags override them, and that docs/recipes.md says the same.
#include "cli/recipes.hpp"

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "cli/plan_flags.hpp"
#include "support/catch.hpp"
#include "vramfit/predict/predict.hpp"

using namespace vramfit;
using namespace vramfit::cli;

namespace {

Job asked(std::vector<std::string> words) {
    CLI::App app;
    PlanFlags flags;
    flags.add(app, {{}, true});
    std::reverse(words.begin(), words.end());
    app.parse(words);
    return flags.job();
}

std::string docs_of_recipes() {
    std::ostringstream text;
    text << std::ifstream(VRAMFIT_SOURCE_DIR "/docs/recipes.md").rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("each recipe names flags of the table once, and its run can be predicted") {
    for (const Recipe& recipe : recipes()) {
        CAPTURE(recipe.name);
        std::vector<std::string> words = {"--model", "llama-3.2-1b"};
        for (const RecipeFlag& flag : recipe.flags) {
            CAPTURE(flag.name);
            REQUIRE(find_plan_flag(flag.name));
            CHECK(std::count_if(recipe.flags.begin(), recipe.flags.end(),
                                [&](const RecipeFlag& other) { return other.name == flag.name; }) == 1);
            words.insert(words.end(), {fmt::format("--{}", flag.name), std::string(flag.value)});
        }
        const Job by_name = asked({"--model", "llama-3.2-1b", "--recipe", std::string(recipe.name)});
        CHECK(by_name.plan == asked(words).plan);
        CHECK(predict(by_name).peak.reserved > 0);
    }
}

TEST_CASE("flags override what a recipe says, in any order") {
    const Job job = asked({"--seq", "256", "--recipe", "axolotl", "--model", "llama-3.2-1b", "--method", "lora"});
    CHECK(job.plan.batch.sequence_length == 256);
    CHECK_FALSE(job.plan.load.quantization);
    CHECK(job.plan.peft->r == 32);
    CHECK_FALSE(asked({"--model", "llama-3.2-1b", "--recipe", "qlora-paper", "--method", "full"}).plan.peft);
}

TEST_CASE("the note of an upper bound survives other library versions") {
    const Job job = asked({"--model", "llama-3.2-1b", "--recipe", "unsloth", "--stack", "hf-2026-11,torch=2.9.0"});
    CHECK(std::any_of(job.notes.begin(), job.notes.end(),
                      [](const Note& note) { return note.kind == NoteKind::upper_bound; }));
}

TEST_CASE("Unsloth's recipe is its own step where that is predicted, else the trainer's with a note") {
    const auto is_bound = [](const Job& job) {
        return std::any_of(job.notes.begin(), job.notes.end(),
                           [](const Note& note) { return note.kind == NoteKind::upper_bound; });
    };
    const auto recipe_with = [](const char* model, std::vector<std::string> more) {
        std::vector<std::string> words = {"--model", model, "--recipe", "unsloth"};
        words.insert(words.end(), more.begin(), more.end());
        return asked(words);
    };
    for (const Job& job : {recipe_with("llama-3.2-1b", {}), recipe_with("mistral-7b-v0.3", {"--gpu", "T4"})}) {
        CHECK(job.plan.loop.kind == LoopKind::unsloth);
        CHECK_FALSE(is_bound(job));
    }
    for (const Job& job :
         {recipe_with("gemma-2-2b", {}), recipe_with("qwen2-0.5b", {"--lora-dropout", "0.1"}),
          recipe_with("llama-3.2-1b", {"--gpu", "rtx5090"}), recipe_with("llama-3.2-1b", {"--loop", "trainer"})}) {
        CHECK(job.plan.loop.kind == LoopKind::trainer);
        CHECK(is_bound(job));
        CHECK(predict(job).peak.reserved > 0);
    }
}

TEST_CASE("the page about recipes has every one with its flags and its source, and help names them") {
    const std::string page = docs_of_recipes();
    const std::string help = find_plan_flag("recipe")->help;
    for (const Recipe& recipe : recipes()) {
        CAPTURE(recipe.name);
        std::vector<std::string> flags;
        for (const RecipeFlag& flag : recipe.flags) flags.push_back(fmt::format("--{} {}", flag.name, flag.value));
        const std::string row = fmt::format("| `{}` | {} | `{}` | {} |\n", recipe.name, recipe.summary,
                                            fmt::join(flags, " "), recipe.source);
        CHECK(page.find(row) != std::string::npos);
        CHECK(help.find(recipe.name) != std::string::npos);
    }
}
