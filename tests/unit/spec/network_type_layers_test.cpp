// Layers that a text says, layers of a kind of their own at an end, and lists of factors.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

using namespace vramfit;

namespace {

/// The first problem of such a config.json, as "WHERE: WHAT"; or how many layers it has.
std::string read_of(std::string_view type, std::string_view keys) {
    const std::string text = fmt::format(
        R"({{"model_type": "{}", "vocab_size": 320, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, {}}})",
        type, keys);
    try {
        return fmt::format("{} layers", read_config(text, "config.json").num_hidden_layers);
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.problems().at(0).where, error.problems().at(0).what);
    }
}

}  // namespace

TEST_CASE("a letter for each layer says how many there are, which kinds, and in which order") {
    const auto read = [](std::string_view keys) { return read_of("nemotron_h", keys); };
    CHECK(read(R"("hybrid_override_pattern": "MEM*ME")") == "6 layers");
    CHECK(read(R"("layers_block_type": ["mamba", "attention", "mlp"])") == "3 layers");
    CHECK(read(R"("num_hidden_layers": 4, "hybrid_override_pattern": "M*-")") ==
          "config.json /layers_block_type: a list of 4 kinds of layers is wanted");
    CHECK(read(R"("hybrid_override_pattern": "MX*E")") ==
          "config.json /layers_block_type: layers of kind \"X\" were not recorded for this type");
    CHECK(read(R"("hybrid_override_pattern": "*ME")") ==
          "config.json /layers_block_type: layers in such an order were not recorded for this type");
    CHECK(read(R"("hybrid_override_pattern": "M*E", "mamba_chunk_size": 256)") ==
          "config.json /mamba_chunk_size: 256 was not recorded, 128 was");
    CHECK(read(R"("mamba_num_heads": 16)").starts_with("config.json /num_hidden_layers: 0 layers"));
}

TEST_CASE("factors are so many numbers above zero") {
    const auto read = [](std::string_view factors) {
        return read_of("falcon_h1", fmt::format(R"("num_hidden_layers": 2, "mamba_d_ssm": 96, "mamba_n_heads": 8,
            "mamba_d_head": 12, "mamba_norm_before_gate": false, "mlp_multipliers": {})",
                                                factors));
    };
    CHECK(read("[0.88, 1]") == "2 layers");
    CHECK(read("null") == "2 layers");
    CHECK(read("[0.88]") == "config.json /mlp_multipliers: a list was not recorded for this type");
    CHECK(read("[0.88, 0.0]") == "config.json /mlp_multipliers: a list was not recorded for this type");
}

TEST_CASE("a first layer of its own kind stands before any others of the list") {
    const auto read = [](std::string_view kinds) {
        return read_of("modernbert-decoder",
                       fmt::format(R"("intermediate_size": 96, "pad_token_id": 0, "num_hidden_layers": 3,
            "layer_types": [{}])",
                                   kinds));
    };
    CHECK(read(R"("full_attention", "sliding_attention", "full_attention")") == "3 layers");
    CHECK(read(R"("sliding_attention", "sliding_attention", "full_attention")") ==
          "config.json /layer_types: layers in such an order were not recorded for this type");
    CHECK(read_of("modernbert-decoder", R"("pad_token_id": 0, "local_attention": 100, "sliding_window": 64)") ==
          "config.json /sliding_window: 64 was not recorded for this type, 50 was (local_attention//2)");
    CHECK(read_of("mamba2", R"("num_hidden_layers": 1, "num_heads": 16, "head_dim": 8)") == "1 layers");
}
