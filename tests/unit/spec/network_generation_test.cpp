// Recorded types as transformers' generate calls them.
#include <algorithm>
#include <string>
#include <variant>

#include "expect.hpp"
#include "program_walk.hpp"
#include "spec/network/generation_config.hpp"
#include "spec/network/rewritten/generation.hpp"
#include "spec/network/rewritten/logits_alone.hpp"
#include "support/catch.hpp"
#include "type_network.hpp"

using namespace vramfit;

namespace {

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
        CHECK(is_given(made.programs[variant.program], "position_ids"));
        CHECK(calls_of(made, variant, network::kCacheUpdate) == made.windows.size());
        CHECK(calls_of(made, variant, network::kCausalMask) == 2);
        CHECK(calls_of(made, variant, "torch.nn.functional.cross_entropy") == 0);
        CHECK(calls_of(made, variant, "torch.Tensor.__bool__") == 0);
        CHECK(calls_of(made, variant, "torch.arange") == 0);  // of heads too
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
        CHECK(is_given(made.programs[variant.program], "position_ids"));
        CHECK(calls_of(made, variant, "torch.cumsum") == 0);
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
