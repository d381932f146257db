// Types whose last layers take the keys and values of others: kinds of layers, and what is refused by name.
#include <algorithm>

#include <fmt/format.h>

#include "spec/json_parse.hpp"
#include "spec/network/type.hpp"
#include "spec/network/type_shared.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/models.hpp"

using namespace vramfit;

namespace {

/// A gemma4_text with this behind its sizes: two groups of layers, the second without keys and values of its own.
std::string gemma4(std::string_view more = "", int shared = 3,
                   std::string_view last = R"("sliding_attention", "full_attention")") {
    return fmt::format(R"({{"model_type": "gemma4_text", "vocab_size": 320, "vocab_size_per_layer_input": 304,
        "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 6, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "global_head_dim": 264, "hidden_size_per_layer_input": 24,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention", {}],
        "num_kv_shared_layers": {}{}}})",
                       last, shared, more);
}

/// The first problem, as "WHERE: WHAT", or "read".
std::string problem_of(const std::string& config) {
    try {
        read_config(config, "config.json");
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.problems()[0].where, error.problems()[0].what);
    }
    return "read";
}

}  // namespace

TEST_CASE("the last layers of each kind leave their keys and values to those behind them") {
    const std::vector<std::string> kinds = {"s", "s", "f", "s", "f"};
    const std::vector<std::string> shared = {"own+s", "store+s", "store+f", "reuse+s", "reuse+f"};
    CHECK(network::with_roles(kinds, 2, false) == shared);
    CHECK(network::with_roles(kinds, 0, false) ==
          std::vector<std::string>{"own+s", "own+s", "own+f", "store+s", "store+f"});
    CHECK(network::with_roles(kinds, 2, true) == shared);
    CHECK(network::with_roles(kinds, 0, true) == std::vector<std::string>{"own+s", "own+s", "own+f", "own+s", "own+f"});
}

TEST_CASE("layers that share keys and values in an order that was not recorded are refused") {
    CHECK(problem_of(gemma4()) == "read");
    CHECK(problem_of(gemma4("", 0)) == "read");
    CHECK(problem_of(gemma4("", 2)).starts_with("config.json /layer_types: layers in such an order"));
    CHECK(problem_of(gemma4("", 4)).starts_with("config.json /num_kv_shared_layers: 4 of 6 layers"));
    CHECK(problem_of(gemma4("", 7)).starts_with("config.json /num_kv_shared_layers: 7 layers cannot be"));
    CHECK(problem_of(gemma4("", 3, R"("full_attention", "sliding_attention")"))
              .starts_with("config.json /layer_types: layers in such an order"));
}

TEST_CASE("keys of Gemma 4 that the recording does not cover are refused by name") {
    const auto with = [](std::string_view more) { return problem_of(gemma4(more)); };
    CHECK(with(R"(, "num_experts": null, "moe_intermediate_size": 704)") == "read");
    CHECK(with(R"(, "enable_moe_block": true)").starts_with("config.json /num_experts: null was not recorded"));
    CHECK(with(R"(, "attention_bias": true)").starts_with("config.json /attention_bias: true was not recorded"));
    CHECK(with(R"(, "use_bidirectional_attention": "all")").starts_with("config.json /use_bidirectional_attention:"));
    CHECK(with(R"(, "attention_k_eq_v": true, "num_global_key_value_heads": 4)")
              .starts_with("config.json /num_global_key_value_heads: as many as num_attention_heads"));
    CHECK(with(R"(, "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0}})") ==
          "read");
    CHECK(with(R"(, "rope_parameters": {"sliding_attention": {"rope_type": "yarn", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0}})")
              .starts_with("config.json /rope_parameters/sliding_attention/rope_type: rotary embeddings of type"));
    CHECK(with(R"(, "rope_parameters": {"rope_type": "default"})")
              .starts_with("config.json /rope_parameters/full_attention: the key is missing"));
    CHECK(
        with(R"(, "rope_scaling": {"rope_type": "linear", "factor": 2.0})").starts_with("config.json /rope_scaling:"));
    CHECK(with(R"(, "per_layer_config": {"2": {"head_dim": 264}})").starts_with("config.json /per_layer_config:"));
}

TEST_CASE("of Gemma 4 the text part is known by name", "[long]") {
    for (const char* name : {"gemma-4-31b", "google/gemma-4-26B-A4B-it", "unsloth/gemma-4-E2B-it", "gemma-4-e4b-it"}) {
        INFO(name);
        CHECK(load_model(name, {}).is_text_part);
        CHECK(load_model(name, {}).recording);
    }
}

namespace {

/// A gemma3n_text with this behind its sizes: three layers at the end take the keys and values of others.
std::string gemma3n(std::string_view more) {
    return fmt::format(R"({{"model_type": "gemma3n_text", "vocab_size": 320, "vocab_size_per_layer_input": 304,
        "hidden_size": 64, "num_hidden_layers": 9, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "hidden_size_per_layer_input": 24, "laurel_rank": 12, "num_kv_shared_layers": 3, "layer_types": [
        "sliding_attention", "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
        "full_attention", "sliding_attention", "sliding_attention", "full_attention"]{}}})",
                       more);
}

}  // namespace

TEST_CASE("Gemma 3n says a feed-forward size and a sparsity for each layer") {
    const auto with = [](std::string_view more) { return problem_of(gemma3n(more)); };
    CHECK(with("") == "read");
    CHECK(with(R"(, "intermediate_size": [176, 176, 176, 176, 176, 176, 176, 176, 176])") == "read");
    CHECK(with(R"(, "intermediate_size": [176, 176])").starts_with("config.json /intermediate_size: a list cannot"));
    CHECK(with(R"(, "intermediate_size": [176, 176, 176, 176, 176, 176, 176, 176, 88])")
              .starts_with("config.json /intermediate_size:"));
    CHECK(with(R"(, "activation_sparsity_pattern": [0.95, 0.95, 0, 0, 0, 0, 0, 0, 0])") == "read");
    CHECK(with(R"(, "activation_sparsity_pattern": [0.95, 0.95])")
              .starts_with("config.json /activation_sparsity_pattern: a list of 9 shares is wanted"));
    CHECK(with(R"(, "activation_sparsity_pattern": [0.95, 0.95, 0, 0, 0, 0, 0, 0, 0.5])")
              .starts_with("config.json /layer_types: layers in such an order"));
    CHECK(with(R"(, "altup_num_inputs": 2)").starts_with("config.json /altup_num_inputs: 2 was not recorded"));
}

TEST_CASE("where nothing is said, the first ten of more layers are sparse") {
    const JsonValue none;
    std::vector<std::string> few(10, "own"), more(12, "own");
    JsonValue first = JsonValue::object();
    first.put("first", JsonValue::of(std::int64_t{10}));
    CHECK(network::mark_sparse({first, "type"}, nullptr, few));
    CHECK(few == std::vector<std::string>(10, "own"));
    CHECK(network::mark_sparse({first, "type"}, &none, more));
    CHECK(std::count(more.begin(), more.end(), "sparse+own") == 10);
}

TEST_CASE("a Gemma 4 without a tower, or without sound, is another network") {
    const auto problem_of_whole = [](const std::string& type, std::string_view parts) {
        Problems problems("config.json");
        const JsonValue config = parse_json(
            fmt::format(R"({{"model_type": "{}", "text_config": {{"num_hidden_layers": 6}}{}}})", type, parts),
            problems);
        try {
            network::instantiate(network::built_in_type(type)->document(), config, "", "config.json");
        } catch (const Error& error) {
            return fmt::format("{}: {}", error.problems()[0].where, error.problems()[0].what);
        }
        return std::string("read");
    };
    CHECK(problem_of_whole("gemma4_unified", R"(, "vision_config": {}, "audio_config": {})") == "read");
    CHECK(problem_of_whole("gemma4_unified", R"(, "vision_config": {})")
              .starts_with("config.json /audio_config: networks without this part"));
    CHECK(problem_of_whole("gemma4", R"(, "vision_config": null)")
              .starts_with("config.json /vision_config: networks without this part"));
}

TEST_CASE("layers without rotary embeddings, and the parts of those that have them") {
    const auto compass = [](std::string_view rope) {
        return problem_of(
            fmt::format(R"({{"model_type": "cohere_compass_text", "hidden_size": 256, "num_hidden_layers": 4,
            "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128, "layer_types": ["sliding_attention",
            "sliding_attention", "sliding_attention", "full_attention"]{}}})",
                        rope));
    };
    constexpr std::string_view kSliding = R"("sliding_attention": {"rope_type": "default", "rope_theta": 50000,
        "mrope_section": [24, 20, 20], "mrope_interleaved": true})";
    CHECK(compass(fmt::format(R"(, "rope_parameters": {{"full_attention": null, {}}})", kSliding)) == "read");
    CHECK(compass(fmt::format(R"(, "rope_parameters": {{"full_attention": null, "rope_theta": 50000, {}}})",
                              kSliding)) == "read");
    CHECK(compass("").starts_with("config.json /rope_parameters: the key is missing"));
    CHECK(compass(fmt::format(R"(, "rope_parameters": {{"full_attention": {{"rope_type": "default"}}, {}}})", kSliding))
              .starts_with("config.json /rope_parameters/full_attention: rotary embeddings of such layers"));
    CHECK(compass(R"(, "rope_parameters": {"full_attention": null, "sliding_attention": {"rope_type": "default",
        "rope_theta": 50000, "mrope_section": [22, 22, 20], "mrope_interleaved": true}})")
              .starts_with(
                  "config.json /rope_parameters/sliding_attention/mrope_section: [22, 22, 20] was not recorded"));
}
