// Recorded types as stages of a pipeline run them.
#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "expect.hpp"
#include "program_walk.hpp"
#include "spec/network/rewritten/stage.hpp"
#include "support/catch.hpp"
#include "type_network.hpp"

using namespace vramfit;

namespace {

/// Modules that the network without its head runs, by their paths in it, checkpointed ones as well.
std::multiset<std::string> modules_of(const network::Document& document, const network::Variant& variant) {
    std::multiset<std::string> found;
    const auto base = [&](const network::Instruction& one) {
        const auto* run = std::get_if<network::Run>(&one);
        return run && run->path == "model";
    };
    const auto& code = document.programs[variant.program].code;
    const auto call = std::find_if(code.begin(), code.end(), base);
    REQUIRE(call != code.end());
    for (const network::Instruction& instruction : document.programs[std::get<network::Run>(*call).program].code) {
        const auto* run = std::get_if<network::Run>(&instruction);
        if (!run) continue;
        if (run->kind == network::Run::Kind::checkpoint)
            run = std::get_if<network::Run>(&document.programs[run->program].code.front());
        found.insert(run->path);
    }
    return found;
}

using Paths = std::multiset<std::string>;

}  // namespace

TEST_CASE("a stage runs its own layers, the first one the embedding, the last one the norm") {
    const network::Document whole = network_of_type("olmo", R"(, "num_hidden_layers": 5)");
    const struct {
        network::StageLayers layers;
        Paths modules;
    } stages[] = {{{0, 1, 5}, {"embed_tokens", "rotary_emb", "layers.0"}},
                  {{1, 3, 5}, {"rotary_emb", "layers.1", "layers.2"}},
                  {{3, 5, 5}, {"rotary_emb", "layers.3", "layers.4", "norm"}}};
    for (const auto& stage : stages) {
        const network::Document part = network::stage_of(whole, stage.layers);
        REQUIRE(!part.variants.empty());
        for (const network::Variant& variant : part.variants) {
            CHECK(modules_of(part, variant) == stage.modules);
            CHECK(is_given(part.programs[variant.program], "input_ids") == stage.layers.has_embedding());
            CHECK(is_given(part.programs[variant.program], "inputs_embeds") != stage.layers.has_embedding());
        }
    }
}

TEST_CASE("a network whose layers hand on several tensors is no pipeline's") {
    const auto error = error_of([] {
        (void)network::stage_of(network_of_type("gemma4_text", R"(, "num_hidden_layers": 4)"), {0, 2, 4});
    });
    REQUIRE(error.has_value());
    CHECK(error->kind() == ErrorKind::unsupported);
}
