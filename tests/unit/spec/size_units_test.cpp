// The expected units are those of torch 2.11 around Llama-3.1-8B, by wrap.py _recursive_wrap.
#include "vramfit/spec/size_units.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "vramfit/spec/models.hpp"

using namespace vramfit;

namespace {

std::vector<std::string> units_of(std::int64_t least) {
    return size_units(spec_of(*find_built_in("llama-3.1-8b")), least);
}

std::size_t ending_with(const std::vector<std::string>& units, std::string_view end) {
    return static_cast<std::size_t>(
        std::count_if(units.begin(), units.end(), [&](const std::string& unit) { return unit.ends_with(end); }));
}

}  // namespace

TEST_CASE("modules are units by the parameters that no unit inside has") {
    // q_proj and o_proj 16.8 M, k_proj and v_proj 4.2 M, gate_proj, up_proj and down_proj 58.7 M, embedding and head
    // 525 M.
    const std::vector<std::string> hundred_million = units_of(100'000'000);
    CHECK(ending_with(hundred_million, ".mlp") == 32);
    CHECK(ending_with(hundred_million, ".self_attn") == 0);
    CHECK(hundred_million.size() == 32 + 3);
    CHECK(hundred_million[0] == "model.embed_tokens");
    CHECK(hundred_million[1] == "model.layers.0.mlp");
    CHECK(hundred_million[33] == "model");  // has the attentions: 1.3 billion parameters
    CHECK(hundred_million[34] == "lm_head");

    const std::vector<std::string> forty_million = units_of(40'000'000);
    CHECK(ending_with(forty_million, "_proj") == 3 * 32);
    CHECK(ending_with(forty_million, ".self_attn") == 32);  // 41.9 M
    CHECK(ending_with(forty_million, ".mlp") == 0);         // nothing is left of it
    CHECK(std::find(forty_million.begin(), forty_million.end(), "model") == forty_million.end());

    CHECK(ending_with(units_of(200'000'000), ".layers.7") == 1);  // 218 M
    CHECK(units_of(1'000'000'000) == std::vector<std::string>{"model"});
    CHECK(units_of(10'000'000'000).empty());
}

TEST_CASE("norms are units where they have as many parameters, lists of layers never") {
    const std::vector<std::string> units = units_of(4'096);
    CHECK(ending_with(units, "norm") == 65);
    CHECK(ending_with(units, "_proj") == 7 * 32);
    CHECK(ending_with(units, "layers") == 0);
    CHECK(units.size() == 65 + 7 * 32 + 2);
}

TEST_CASE("a module is inside of itself and of those above it") {
    CHECK(is_inside("model.layers.1", "model.layers.1"));
    CHECK(is_inside("model.layers.1.mlp", "model.layers.1"));
    CHECK(!is_inside("model.layers.10", "model.layers.1"));
    CHECK(is_inside("lm_head", ""));
}
