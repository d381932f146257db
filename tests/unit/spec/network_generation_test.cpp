// Recorded types as transformers' generate calls them.
#include <algorithm>
#include <functional>
#include <string>
#include <variant>

#include "expect.hpp"
#include "spec/network/generation_config.hpp"
#include "spec/network/rewritten/generation.hpp"
#include "spec/network/rewritten/logits_alone.hpp"
#include "support/catch.hpp"
#include "type_network.hpp"

using namespace vramfit;

namespace {

using Visit = std::function<void(const network::Program&)>;

void for_each_run(const network::Document& document, network::Number number, const Visit& visit) {
    const network::Program& program = document.programs[number];
    visit(program);
    for (const network::Instruction& instruction : program.code)
        if (const auto* run = std::get_if<network::Run>(&instruction)) for_each_run(document, run->program, visit);
}

/// How often something calls the function in a pass through a variant.
std::size_t count_calls(const network::Document& document, const network::Variant& variant, std::string_view function) {
    std::size_t found = 0;
    for_each_run(document, variant.program, [&](const network::Program& program) {
        for (const network::Instruction& instruction : program.code)
            if (const auto* call = std::get_if<network::Call>(&instruction)) found += call->function == function;
    });
    return found;
}

bool has_input(const network::Program& program, std::string_view name) {
    return std::any_of(program.inputs.begin(), program.inputs.end(),
                       [&](const network::Input& input) { return input.name == name; });
}

network::Document generation_of(const char* type, const char* more) {
    return network::with_generation(network::with_logits_alone(network_of_type(type, more)));
}

std::vector<network::Variant> generating(const network::Document& document) {
    std::vector<network::Variant> found;
    std::copy_if(document.variants.begin(), document.variants.end(), std::back_inserter(found),
                 [](const network::Variant& variant) { return variant.generates; });
    return found;
}

}  // namespace

TEST_CASE("keys and values of each layer go through a cache, and masks are made by name") {
    const network::Document made = generation_of("olmo3", R"(, "sliding_window": 512)");
    const std::vector<network::Variant> variants = generating(made);
    REQUIRE(variants.size() == 4);  // padded or not, with rows that reach the window or not
    for (const network::Variant& variant : variants) {
        CHECK(has_input(made.programs[variant.program], "position_ids"));
        CHECK(count_calls(made, variant, network::kCacheUpdate) == made.windows.size());
        CHECK(count_calls(made, variant, network::kCausalMask) == 2);
        CHECK(count_calls(made, variant, "torch.nn.functional.cross_entropy") == 0);
        CHECK(count_calls(made, variant, "torch.Tensor.__bool__") == 0);
        CHECK(count_calls(made, variant, "torch.arange") == 0);  // of heads too
        CHECK(made.programs[variant.program].outputs.size() == 1);
    }
}

TEST_CASE("caches slide of those layers that are given the mask of a window") {
    const network::Document made = generation_of("olmo3", R"(, "sliding_window": 512, "num_hidden_layers": 2,
                                    "layer_types": ["sliding_attention", "full_attention"])");
    REQUIRE(made.windows.size() == 2);
    CHECK(made.windows[0] == 512);
    CHECK(!made.windows[1]);
    const network::Document without = generation_of("olmo", "");
    for (const auto& window : without.windows) CHECK(!window);
}

TEST_CASE("positions that a network counts in the mask of rows are given") {
    const network::Document made = generation_of("opt", "");
    for (const network::Variant& variant : generating(made)) {
        CHECK(has_input(made.programs[variant.program], "position_ids"));
        CHECK(count_calls(made, variant, "torch.cumsum") == 0);
    }
}

TEST_CASE("a network that attends in a way of its own does not generate") {
    for (const char* type : {"gptj", "mamba"}) {
        const auto error = error_of([&] { (void)generation_of(type, ""); });
        REQUIRE(error.has_value());
        CHECK(error->kind() == ErrorKind::unsupported);
    }
}

TEST_CASE("tokens that end a row are the configuration's, or its class's") {
    CHECK(network::generation_config_of(network_of_type("glm", "")).ends == 3);
    CHECK(!network::generation_config_of(network_of_type("glm", "")).has_begin);
    CHECK(network::generation_config_of(network_of_type("glm", R"(, "eos_token_id": [1, 2])")).ends == 2);
    CHECK(
        network::generation_config_of(network_of_type("olmo", R"(, "eos_token_id": 2, "bos_token_id": 1)")).has_begin);
    CHECK(network::generation_config_of(network_of_type("opt", R"(, "eos_token_id": null)")).ends == 0);
}
