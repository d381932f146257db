// Layers that a text says, of a kind or with sizes of their own, and lists of factors.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "spec/network/model.hpp"
#include "spec/network/type_layers.hpp"
#include "support/catch.hpp"
#include "unit/spec/type_network.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

using namespace vramfit;

namespace {

/// The first problem of a config.json, as "WHERE: WHAT"; or how many layers it has.
std::string problem_in(const std::string& text) {
    try {
        return fmt::format("{} layers", read_config(text, "config.json").num_hidden_layers);
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.problems().at(0).where, error.problems().at(0).what);
    }
}

std::string read_of(std::string_view type, std::string_view keys) {
    return problem_in(fmt::format(
        R"({{"model_type": "{}", "vocab_size": 320, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, {}}})",
        type, keys));
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

TEST_CASE("layers that look at images alone stand at the places that a key lists") {
    const auto read = [](std::string_view keys) {
        return read_of("mllama_text_model", fmt::format(R"("intermediate_size": 176, "pad_token_id": 0{})", keys));
    };
    CHECK(read(R"(, "num_hidden_layers": 5, "cross_attention_layers": [1, 3])") == "5 layers");
    CHECK(read(R"(, "num_hidden_layers": 4, "cross_attention_layers": [])") == "4 layers");
    CHECK(read(R"(, "num_hidden_layers": 4, "cross_attention_layers": [0])") ==
          "config.json /layer_types: layers in such an order were not recorded for this type");
    CHECK(read("") == "config.json /cross_attention_layers: the key is missing");
}

TEST_CASE("values of all layers that end behind them are those of the first one, the last layer's first") {
    const network::LayerLoop loop{20, 10, 3};
    const auto ends = [](std::vector<JsonValue> values) {
        return JsonValue::list({JsonValue::of("end"), JsonValue::list(std::move(values))});
    };
    const auto of = [](std::int64_t n) { return JsonValue::of(n); };
    CHECK(loop.back() == 10);
    CHECK(network::same_value(loop.of_all(ends({of(3), JsonValue::list({of(21), of(22)}), of(51)})),
                              ends({of(3), of(41), of(42), of(31), of(32), of(21), of(22), of(51)})));
    const JsonValue other = JsonValue::list({JsonValue::of("if"), JsonValue::of("S > 1"), JsonValue::of(true)});
    CHECK(network::same_value(loop.of_all(other), other));
}

TEST_CASE("layers of a network with several lists are said once") {
    const network::Document stacks =
        network_of_type("hrm_text", R"(, "hidden_size": 64, "num_attention_heads": 4, "num_layers_per_stack": 2)");
    CHECK(network::has_several_lists(stacks));
    CHECK(network::decoder_layers(stacks) ==
          std::vector<std::string>{"model.L_module.layers.0", "model.L_module.layers.1", "model.H_module.layers.0",
                                   "model.H_module.layers.1"});
    const network::Document parts = network_of_type("xlm", R"(, "n_layers": 3)");
    CHECK(network::has_several_lists(parts));
    CHECK(network::decoder_layers(parts).back() == "transformer.attentions.2");
    CHECK_FALSE(network::has_several_lists(network_of_type("olmo", "")));
}

TEST_CASE("parts of a configuration for attention and experts are wanted") {
    const auto read = [](std::string_view attention) {
        return problem_in(fmt::format(R"({{"model_type": "dbrx", "d_model": 64, "n_heads": 8, "n_layers": 2,
            "attn_config": {{"clip_qkv": 8{}}}, "ffn_config": {{"moe_top_k": 2, "moe_loss_weight": 0.05}}}})",
                                      attention));
    };
    CHECK(read(R"(, "kv_n_heads": 2, "rope_theta": 500000)") == "2 layers");
    CHECK(read(R"(, "kv_n_heads": 2)") == "config.json /attn_config/rope_theta: the key is missing");
    CHECK(read(R"(, "kv_n_heads": 8, "rope_theta": 500000)").starts_with("config.json /attn_config/kv_n_heads: "));
    CHECK(read(R"(, "kv_n_heads": 2, "rope_theta": 500000, "attn_pdrop": 0.1)") ==
          "config.json /attn_config/attn_pdrop: 0.1 was not recorded for this type");
    CHECK(problem_in(R"({"model_type": "dbrx", "n_layers": 2})").starts_with("config.json /attn_config: "));
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

TEST_CASE("heads of each layer are those of its kind of attention") {
    const auto read = [](std::string_view heads, std::string_view more = "") {
        return read_of("laguna", fmt::format(R"("num_hidden_layers": 4, "num_attention_heads_per_layer": {},
            "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]{})",
                                             heads, more));
    };
    CHECK(read("[4, 8, 8, 4]") == "4 layers");
    CHECK(read("null") == "4 layers");
    CHECK(read("[4, 8, 6, 4]") ==
          "config.json /num_attention_heads_per_layer: layers of kind sliding_attention that differ were not recorded "
          "for this type");
    CHECK(read("[4, 8, 8]") == "config.json /num_attention_heads_per_layer: a list of 4 sizes is wanted");
    CHECK(read("[4, 0, 0, 4]") == "config.json /num_attention_heads_per_layer: 0 cannot be");
    CHECK(read("[4, 7, 7, 4]") == "config.json /num_key_value_heads: 2 does not divide 7");
}

TEST_CASE("rotary embeddings of a kind may be of another type, and turn the part that was recorded") {
    const auto read = [](std::string_view full) {
        return read_of("laguna", fmt::format(R"("num_hidden_layers": 4, "layer_types": ["full_attention",
            "sliding_attention", "sliding_attention", "full_attention"], "rope_parameters": {{"full_attention": {{{}}},
            "sliding_attention": {{"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0}}}})",
                                             full));
    };
    CHECK(read(R"("rope_type": "default", "rope_theta": 5e5, "partial_rotary_factor": 0.5)") == "4 layers");
    CHECK(read(R"("rope_type": "yarn", "rope_theta": 5e5, "partial_rotary_factor": 0.5, "factor": 32.0,
        "original_max_position_embeddings": 4096, "beta_fast": 64.0)") == "4 layers");
    CHECK(read(R"("rope_type": "yarn", "rope_theta": 5e5, "partial_rotary_factor": 0.5, "factor": 32.0)") ==
          "config.json /rope_parameters/full_attention/original_max_position_embeddings: the key is missing");
    CHECK(read(R"("rope_type": "default", "rope_theta": 5e5, "partial_rotary_factor": 1.0)") ==
          "config.json /rope_parameters/full_attention/partial_rotary_factor: 1.0 was not recorded, 0.5 was");
    CHECK(read(R"("rope_type": "default", "rope_theta": 5e5)") ==
          "config.json /rope_parameters/full_attention/partial_rotary_factor: the key is missing");
    CHECK(read(R"("rope_type": "linear", "rope_theta": 5e5, "partial_rotary_factor": 0.5, "factor": 2.0)") ==
          "config.json /rope_parameters/full_attention/rope_type: rotary embeddings of type \"linear\" were not "
          "recorded for this type");
}

TEST_CASE("Zamba's layers with attention are two at least, which share their parameters") {
    const auto read = [](std::string_view kinds) {
        return read_of("zamba", fmt::format(R"("intermediate_size": 176, "mamba_d_state": 8,
            "pad_token_id": 0, "num_hidden_layers": 6, "layers_block_type": [{}])",
                                            kinds));
    };
    CHECK(read(R"("mamba", "hybrid", "mamba", "hybrid", "mamba", "mamba")") == "6 layers");
    CHECK(read(R"("mamba", "mamba", "hybrid", "mamba", "mamba", "hybrid")") == "6 layers");
    CHECK(read(R"("mamba", "hybrid", "mamba", "mamba", "mamba", "mamba")") ==
          "model: a single layer of kind hybrid, which shares its parameters with none");
    CHECK(read(R"("hybrid", "hybrid", "mamba", "hybrid", "mamba", "mamba")") ==
          "config.json /layers_block_type: layers in such an order were not recorded for this type");
}

TEST_CASE("what layers share is counted once") {
    const auto count = [](std::string_view kinds) {
        return total_parameters(read_config(
            fmt::format(R"({{"model_type": "zamba", "vocab_size": 320, "hidden_size": 64, "num_attention_heads": 4,
                "num_key_value_heads": 4, "intermediate_size": 176, "mamba_d_state": 8, "mamba_dt_rank": 4,
                "pad_token_id": 0, "num_hidden_layers": 4, "layers_block_type": [{}]}})",
                        kinds),
            "config.json"));
    };
    // One linear layer of 64 x 64 stands before each layer of a state space that has attention.
    CHECK(count(R"("mamba", "hybrid", "hybrid", "hybrid")") == count(R"("mamba", "mamba", "hybrid", "hybrid")") + 4096);
}
