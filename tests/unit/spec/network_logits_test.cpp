// Recorded types without their loss: logits of the last tokens, and scores in their place.
#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "program_walk.hpp"
#include "spec/network/model.hpp"
#include "spec/network/rewritten/logits_alone.hpp"
#include "spec/network/rewritten/score.hpp"
#include "support/catch.hpp"
#include "type_network.hpp"

using namespace vramfit;

namespace {

std::set<std::string> functions_of(const network::Program& program) {
    std::set<std::string> found;
    for (const network::Instruction& instruction : program.code)
        if (const auto* call = std::get_if<network::Call>(&instruction)) found.insert(call->function);
    return found;
}

std::set<std::string> names_of(const std::vector<network::Output>& outputs) {
    std::set<std::string> found;
    for (const network::Output& output : outputs) found.insert(output.name);
    return found;
}

}  // namespace

TEST_CASE("each variant with labels has one beside it without, whose head takes the tokens that are kept") {
    const network::Document whole = network_of_type("olmo", R"(, "num_hidden_layers": 2)");
    const network::Document alone = network::with_logits_alone(whole);
    REQUIRE(alone.variants.size() == 2 * whole.variants.size());
    for (std::size_t i = 0; i < whole.variants.size(); ++i) {
        const network::Variant &with = whole.variants[i], &without = alone.variants[whole.variants.size() + i];
        CHECK(with.labels);
        CHECK(!without.labels);
        CHECK(without.mask == with.mask);
        CHECK(without.checkpointing == with.checkpointing);
        const network::Program& program = alone.programs[without.program];
        CHECK(names_of(program.outputs) == std::set<std::string>{"logits"});
        CHECK(functions_of(program) == std::set<std::string>{"torch.Tensor.__getitem__"});
        CHECK(!is_given(program, "labels"));
    }
}

TEST_CASE("sizes behind the slice are of the tokens that are kept") {
    const network::Document alone = network::with_logits_alone(network_of_type("cohere2_moe", ""));
    const network::Program& program = alone.programs[alone.variants.back().program];
    std::size_t kept = 0;
    for (const network::Instruction& instruction : program.code)
        if (const auto* call = std::get_if<network::Call>(&instruction))
            for (const network::Result& result : call->results)
                for (const network::Argument& size : result.sizes)
                    for (const network::FormulaStep& step : size.formula.steps) {
                        CHECK(step.kind != network::FormulaStep::Kind::length);
                        kept += step.kind == network::FormulaStep::Kind::kept;
                    }
    CHECK(kept > 1);  // the slice, and what scales the logits
}

TEST_CASE("a score stands in the place of the head") {
    const network::Document whole = network_of_type("exaone4", R"(, "tie_word_embeddings": true)");
    for (const bool of_tokens : {false, true}) {
        const network::Document scored = network::with_score(whole, 3, of_tokens);
        CHECK(scored.ties.empty());
        const std::vector<NamedModule> modules = network::modules_in(scored);
        CHECK(modules.back().name == "score");
        CHECK(modules.back().out == 3);
        CHECK(modules.back().bias == of_tokens);
        CHECK(modules.back().part == ModulePart::head);
        CHECK(std::none_of(modules.begin(), modules.end(),
                           [](const NamedModule& module) { return module.name == "lm_head"; }));
        for (const network::Variant& variant : scored.variants)
            CHECK(scored.programs[variant.program].code.size() == 1);
    }
}
