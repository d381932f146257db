// Types of networks: configurations that were compared with recordings of their own, and what is refused by name.
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "spec/json_parse.hpp"
#include "spec/network/type.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

using namespace vramfit;

namespace {

JsonValue parsed(const std::string& text) {
    Problems problems("config.json");
    JsonValue value = parse_json(text, problems);
    problems.throw_if_any();
    return value;
}

JsonValue network_in_json(const JsonValue& type, const JsonValue& config) {
    Problems problems("config.json");
    const network::Place place(type, "config.json");
    const JsonValue keys = network::in_one_level(place, config);
    const network::TypeConfig read = network::read_type_config(place, keys, "", problems);
    problems.throw_if_any();
    return network::network_of(place, read, keys);
}

/// FNV-1a of the network without its configuration: tools/record, types/normal.py.
std::string fingerprint(const JsonValue& network) {
    auto json = nlohmann::json::parse(to_text(network));
    json["network"].erase("config");
    std::uint64_t number = 0xCBF29CE484222325;
    for (const char byte : json.dump()) number = (number ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
    return fmt::format("{:016x}", number);
}

/// An olmo with this in place of that.
std::string olmo(std::string_view that = "", std::string_view in_place = "") {
    std::string text = R"({"model_type": "olmo", "vocab_size": 320, "hidden_size": 64, "intermediate_size": 176,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048,
        "pad_token_id": 0})";
    if (!that.empty()) text.replace(text.find(that), that.size(), in_place);
    return text;
}

/// The first problem, as "WHERE: WHAT".
std::string refusal_of_config(const std::string& config, ErrorKind kind) {
    try {
        read_config(config, "config.json");
    } catch (const Error& error) {
        CHECK(error.kind() == kind);
        CHECK(!error.problems().at(0).hint.empty());
        return fmt::format("{}: {}", error.problems()[0].where, error.problems()[0].what);
    }
    return "read";
}

}  // namespace

TEST_CASE("networks made of their types are those that were compared with recordings of their own") {
    std::ifstream lines(VRAMFIT_TEST_DATA_DIR "/networks/types.jsonl");
    std::size_t networks = 0;
    std::map<std::string, int> types;
    for (std::string line; std::getline(lines, line); ++networks) {
        const auto row = nlohmann::json::parse(line);
        INFO(line);
        const JsonValue config = parsed(row["config"].dump());
        const network::BuiltInType* type = network::built_in_type_of(config);
        REQUIRE(type);
        if (test::is_tried(networks, 16))
            CHECK(fingerprint(network_in_json(type->document(), config)) == row["network"]);
        ++types[std::string(type->model_type)];
    }
    CHECK(types.size() == network::built_in_types().size());
    for (const network::BuiltInType& type : network::built_in_types())
        CHECK(type.facts.networks == types[std::string(type.model_type)]);
}

TEST_CASE("so are those of other releases of transformers") {
    for (const network::BuiltInType& type : network::built_in_types()) {
        for (const network::TypeRecording& other : type.other_releases) {
            std::ifstream lines(
                fmt::format("{}/networks/types-{}.jsonl", VRAMFIT_TEST_DATA_DIR, other.facts.transformers));
            std::int64_t networks = 0;
            for (std::string line; std::getline(lines, line);) {
                const auto row = nlohmann::json::parse(line);
                const JsonValue config = parsed(row["config"].dump());
                if (network::built_in_type_of(config) != &type) continue;
                INFO(line);
                if (test::is_tried(static_cast<std::size_t>(networks++), 4))
                    CHECK(fingerprint(network_in_json(other.document(), config)) == row["network"]);
            }
            CHECK(other.facts.networks == networks);
        }
    }
}

TEST_CASE("types are in the program as they are in models/types") {
    const auto text_of_file = [](std::string_view folder, std::string_view name) {
        std::ifstream file(fmt::format("{}/../../models/types/{}{}.json", VRAMFIT_TEST_DATA_DIR, folder, name));
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    for (const network::BuiltInType& type : network::built_in_types()) {
        INFO(type.model_type);
        CHECK(type.text() == text_of_file("", type.model_type));
        for (const network::TypeRecording& other : type.other_releases)
            CHECK(other.text() == text_of_file(fmt::format("{}/", other.facts.transformers), type.model_type));
    }
}

TEST_CASE("a config.json of a recorded type is a model") {
    const ModelSpec model = read_config(olmo(), "config.json");
    CHECK(model.model_type == "olmo");
    CHECK(model.num_hidden_layers == 2);
    CHECK(model.hidden_size == 64);
    CHECK(model.num_key_value_heads == 2);
    CHECK(model.head_dim == 16);
    CHECK(total_parameters(model) == 2 * 320 * 64 + 2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 176));
    CHECK(total_parameters(read_config(olmo("2,", "40,"), "config.json")) >
          10 * (total_parameters(model) - 2 * 320 * 64));
    // The head size that the class computes may stand there.
    CHECK(total_parameters(read_config(olmo("\"pad_token_id\": 0", R"("head_dim": 16)"), "config.json")) ==
          total_parameters(model));
    // Written and read again it is the same network.
    const ModelSpec again = read_config(to_config_text(model), "again.json");
    CHECK(to_config_text(again) == to_config_text(model));
}

TEST_CASE("what the recording of a type does not cover is refused by the key") {
    const auto unsupported = [](std::string_view that, std::string_view in_place) {
        return refusal_of_config(olmo(that, in_place), ErrorKind::unsupported);
    };
    CHECK(unsupported("\"pad_token_id\": 0", R"("hidden_act": "quick_gelu")") ==
          "config.json /hidden_act: \"quick_gelu\" was not recorded for this type");
    CHECK(unsupported("\"pad_token_id\": 0", R"("rope_scaling": {"type": "dynamic", "factor": 2.0})")
              .starts_with("config.json /rope_scaling/rope_type: rotary embeddings of type \"dynamic\""));
    CHECK(unsupported("\"pad_token_id\": 0", R"("rope_scaling": {"type": "linear", "factor": 2.0, "mscale": 1.0})")
              .starts_with("config.json /rope_scaling/mscale: "));
    CHECK(unsupported("\"pad_token_id\": 0", R"("output_hidden_states": true)")
              .starts_with("config.json /output_hidden_states: true was not recorded"));
    CHECK(unsupported("\"pad_token_id\": 0", R"("pad_token_id": 320)").find("pad_token_id >= vocab_size") !=
          std::string::npos);
    CHECK(unsupported("\"pad_token_id\": 0", R"("head_dim": 32)") ==
          "config.json /head_dim: 32 was not recorded for this type, 16 was (hidden_size//num_attention_heads)");
    CHECK(unsupported("\"pad_token_id\": 0", R"("quantization_config": {"bits": 4})").find("quantized already") !=
          std::string::npos);
}

TEST_CASE("sizes that have to be what others say") {
    const std::string opt = R"({"model_type": "opt", "vocab_size": 320, "hidden_size": 64, "ffn_dim": 176,
        "num_hidden_layers": 2, "num_attention_heads": 4, "word_embed_proj_dim": )";
    CHECK(refusal_of_config(opt + "64}", ErrorKind::unsupported) == "read");
    CHECK(refusal_of_config(opt + "32}", ErrorKind::unsupported) == "read");
    CHECK(refusal_of_config(opt + "48}", ErrorKind::invalid) == "config.json /hidden_size: 48 does not divide 64");
    const std::string helium = R"({"model_type": "helium", "vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2,
        "intermediate_size": 176, "num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0, "head_dim": )";
    CHECK(refusal_of_config(helium + "16}", ErrorKind::unsupported) == "read");
    CHECK(refusal_of_config(helium + "32}", ErrorKind::unsupported) ==
          "config.json /head_dim: 32 was not recorded for this type, 16 was (hidden_size//num_attention_heads)");
    CHECK(refusal_of_config(opt + "\"64\"}", ErrorKind::invalid) ==
          "config.json /word_embed_proj_dim: \"64\" cannot be");
}

TEST_CASE("what no network of a type has is invalid") {
    const auto invalid = [](std::string_view that, std::string_view in_place) {
        return refusal_of_config(olmo(that, in_place), ErrorKind::invalid);
    };
    CHECK(invalid("\"hidden_size\": 64", "\"hidden_size\": \"64\"").starts_with("config.json /hidden_size: "));
    CHECK(invalid("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0") ==
          "config.json /num_hidden_layers: 0 layers cannot be");
    CHECK(invalid("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1000000").starts_with("config.json /num_hidden"));
    CHECK(invalid("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3") ==
          "config.json /num_key_value_heads: 3 does not divide 4 attention heads");
    CHECK(invalid("\"pad_token_id\": 0", R"("rope_scaling": {"type": "linear"})") ==
          "config.json /rope_scaling/factor: the key is missing");
}

TEST_CASE("a type that is damaged is refused") {
    const std::string whole(network::built_in_type("olmo")->text());
    const JsonValue config = parsed(olmo());
    for (const auto& [that, in_place] : std::vector<std::pair<std::string, std::string>>{
             {"\"schema\":\"vramfit.network-type/1\"", "\"schema\":\"other\""},
             {"\"nodes\":[", "\"nods\":["},
             {"\"instructions\":[", "\"instructions\":[],\"more\":["},
             {"\"root\":", "\"root\":1000000,\"other\":"},
             {"\"layers\":{", "\"layer\":{"}}) {
        std::string text = whole;
        const std::size_t at = text.rfind(that);
        INFO(that);
        REQUIRE(at != std::string::npos);
        text.replace(at, that.size(), in_place);
        CHECK_THROWS_AS(network::instantiate(text, config, "", "config.json"), Error);
    }
}

namespace {

/// The kinds of layers that a type with these `layers` reads in a configuration; or the first problem.
std::string kinds_of(const std::string& layers, const std::string& config) {
    const JsonValue type = parsed(R"({"keys": [{"key": "last", "equal": "=n-1"}], "layers": )" + layers +
                                  R"(, "choices": {"the layers": [["a", "a", "b", "b"], ["b", "b", "b", "b"],
                                      ["d+a", "d+a", "s+b", "s+b"]]}})");
    const JsonValue read = parsed(config);
    Problems problems("config.json");
    try {
        std::string all;
        for (const std::string& kind :
             network::read_type_config(network::Place(type, "type"), read, "", problems).kinds)
            all += kind;
        problems.throw_if_any();
        return all;
    } catch (const Error& error) {
        return fmt::format("{}: {}", error.problems()[0].where, error.problems()[0].what);
    }
}

}  // namespace

TEST_CASE("kinds of layers by a list, by what is the default of one, and by a number") {
    const std::string listed = R"({"key": "n", "default": 3, "list": "kinds", "kinds": ["a", "b"], "begin": ["a"],
        "pattern": ["b"], "most": 9})";
    CHECK(kinds_of(listed, "{}") == "abb");
    CHECK(kinds_of(listed, R"({"n": 5, "last": 4})") == "abbbb");
    CHECK(kinds_of(listed, R"({"n": 5, "last": 5})").starts_with("config.json /last: 5 was not recorded"));
    CHECK(kinds_of(listed, R"({"n": 2, "kinds": ["b", "b"]})") == "bb");
    CHECK(kinds_of(listed, R"({"n": 2, "kinds": ["b", "a"]})").starts_with("config.json /kinds: layers in such"));
    CHECK(kinds_of(listed, R"({"n": 2, "kinds": ["b"]})").starts_with("config.json /kinds: a list of 2 kinds"));
    const std::string older =
        R"({"key": "n", "default": 2, "list": "kinds", "kinds": ["a", "b"], "names": {"c": "b"}})";
    CHECK(kinds_of(older, R"({"kinds": ["b", "c"]})") == "bb");
    CHECK(kinds_of(older, R"({"kinds": ["b", "d"]})").starts_with("config.json /kinds: layers of kind \"d\""));
    CHECK(kinds_of(listed, R"({"n": 10})") == "config.json /n: 10 layers were not recorded for this type");
    const std::string counted =
        R"({"key": "n", "default": 3, "kinds": ["a", "b"], "count": {"key": "dense", "default": 1}})";
    CHECK(kinds_of(counted, "{}") == "abb");
    CHECK(kinds_of(counted, R"({"dense": 2})") == "aab");
    CHECK(kinds_of(counted, R"({"dense": 0})") == "bbb");
    CHECK(kinds_of(counted, R"({"dense": 3})").starts_with("config.json /dense: layers in such an order"));
    CHECK(kinds_of(counted, R"({"dense": -1})") == "config.json /dense: -1 layers cannot be");
}

TEST_CASE("layers differ in two ways: by a list, or for so many at the beginning") {
    const std::string both = R"({"key": "n", "default": 3, "list": "kinds", "kinds": ["a", "b"], "begin": ["a"],
        "pattern": ["b"], "second": {"kinds": ["d", "s"], "list": "ways", "count": {"key": "dense", "default": 1}}})";
    CHECK(kinds_of(both, "{}") == "d+as+bs+b");
    CHECK(kinds_of(both, R"({"ways": ["d", "s", "s"], "dense": 3})") == "d+as+bs+b");
    CHECK(kinds_of(both, R"({"dense": 3})").starts_with("config.json /kinds: layers in such an order"));
    CHECK(kinds_of(both, R"({"ways": ["d", "x", "s"]})").starts_with("config.json /ways: layers of kind \"x\""));
    CHECK(kinds_of(both, R"({"dense": -1})") == "config.json /dense: -1 layers cannot be");
}

TEST_CASE("a norm for each head was recorded with one number of heads") {
    const auto stablelm = [](bool norm, int heads, int pairs) {
        return read_config(fmt::format(R"({{"model_type": "stablelm", "hidden_size": 512, "num_attention_heads": {},
                                           "num_key_value_heads": {}, "qk_layernorm": {}}})",
                                       heads, pairs, norm),
                           "config.json");
    };
    CHECK(stablelm(false, 16, 8).num_attention_heads == 16);
    // 32 and 8 norms of 16 numbers in each layer, without biases.
    const auto more = total_parameters(stablelm(true, 32, 8)) - total_parameters(stablelm(false, 32, 8));
    CHECK(more == stablelm(true, 32, 8).num_hidden_layers * (32 + 8) * 16);
    for (const auto& [heads, pairs] : {std::pair{16, 8}, std::pair{32, 4}, std::pair{32, 32}})
        CHECK_THROWS_AS(stablelm(true, heads, pairs), Error);
}

TEST_CASE("powers of two alone, and a pattern that may be anything where its list is given") {
    const auto bloom = [](int heads, int size) {
        return fmt::format(R"({{"model_type": "bloom", "n_embed": {}, "n_layer": 2, "n_head": {}}})", size, heads);
    };
    CHECK(read_config(bloom(8, 96), "config.json").hidden_size == 96);
    CHECK_THROWS_AS(read_config(bloom(6, 96), "config.json"), Error);
    CHECK(read_config(bloom(112, 896), "config.json").hidden_size == 896);  // as BLOOM itself has
    CHECK_THROWS_AS(read_config(bloom(56, 896), "config.json"), Error);
    const auto falcon = [](std::string_view alibi) {
        return fmt::format(R"({{"model_type": "falcon", "hidden_size": 96, "num_attention_heads": 6, "alibi": {}}})",
                           alibi);
    };
    CHECK(read_config(falcon("false"), "config.json").hidden_size == 96);
    CHECK_THROWS_AS(read_config(falcon("true"), "config.json"), Error);
    const auto mpt = [](std::string_view entry) {
        return fmt::format(R"({{"model_type": "mpt", "d_model": 64, "n_heads": 4, "attn_config": {{{}}}}})", entry);
    };
    CHECK(read_config(mpt(R"("alibi": true, "clip_qkv": null)"), "config.json").hidden_size == 64);
    CHECK_THROWS_AS(read_config(mpt(R"("clip_qkv": 8)"), "config.json"), Error);
    CHECK_THROWS_AS(read_config(mpt(R"("softmax": 8)"), "config.json"), Error);
    const auto exaone = [](std::string_view list) {
        return fmt::format(R"({{"model_type": "exaone4", "hidden_size": 64, "intermediate_size": 176,
            "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
            "sliding_window_pattern": "LLLG"{}}})",
                           list);
    };
    CHECK(read_config(exaone(R"(, "layer_types": ["sliding_attention", "full_attention"])"), "config.json")
              .num_hidden_layers == 2);
    CHECK_THROWS_AS(read_config(exaone(""), "config.json"), Error);
}

TEST_CASE("rows that reach a sliding window have variants of their own, by the configuration's number") {
    const auto sizes_of = [](const char* more) {
        std::vector<std::string> found;
        const JsonValue config = parsed(std::string(R"({"model_type": "olmo3", "num_hidden_layers": 4)") + more);
        const network::Document document =
            network::instantiate(network::built_in_type("olmo3")->document(), config, "", "config.json");
        for (const network::Variant& variant : document.variants)
            found.push_back(variant.sizes ? variant.sizes->text : std::string());
        return std::set<std::string>(found.begin(), found.end());
    };
    CHECK(sizes_of(R"(, "sliding_window": 24})") == std::set<std::string>{"", "S >= 24"});
    CHECK(sizes_of("}") == std::set<std::string>{"", "S >= 4096"});
}

TEST_CASE("rows of whole chunks have variants of their own, and what no experts need is not looked at") {
    const auto granite = [](const char* more) {
        return parsed(fmt::format(R"({{"model_type": "granitemoehybrid", "hidden_size": 64, "num_attention_heads": 4,
            "num_key_value_heads": 2, "num_hidden_layers": 3, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16,
            "position_embedding_type": "nope", "layer_types": ["mamba", "attention", "mamba"]{}}})",
                                  more));
    };
    const auto network_of = [](const JsonValue& config) {
        return network::instantiate(network::built_in_type("granitemoehybrid")->document(), config, "", "config.json");
    };
    std::set<std::string> sizes;
    for (const network::Variant& variant : network_of(granite("")).variants)
        sizes.insert(variant.sizes ? variant.sizes->text : std::string());
    CHECK(sizes == std::set<std::string>{"", "256*((S+255)//256)-S <= 0"});
    CHECK_NOTHROW(network_of(granite(R"(, "num_local_experts": 0, "num_experts_per_tok": 0)")));
    CHECK_THROWS_AS(network_of(granite(R"(, "num_local_experts": 8, "num_experts_per_tok": 0)")), Error);
    CHECK_THROWS_AS(network_of(granite(R"(, "mamba_chunk_size": 128)")), Error);
    CHECK_THROWS_AS(network_of(granite(R"(, "mamba_n_heads": 16)")), Error);
}

TEST_CASE("every so manieth layer is sparse, and keys that say once more what the layers are") {
    const auto llama4 = [](std::string_view more) {
        return fmt::format(R"({{"model_type": "llama4_text", "vocab_size": 320, "hidden_size": 64, "head_dim": 16,
            "intermediate_size": 40, "intermediate_size_mlp": 176, "num_attention_heads": 4, "num_key_value_heads": 2,
            "num_local_experts": 8, "num_hidden_layers": 4{}}})",
                           more);
    };
    for (const char* more : {"", R"(, "interleave_moe_layer_step": 2, "moe_layers": [1, 3], "no_rope_layers": [])",
                             R"(, "moe_layers": [0, 1, 2, 3], "no_rope_layers": [1, 1, 1, 0])"}) {
        INFO(more);
        CHECK(read_config(llama4(more), "config.json").num_hidden_layers == 4);
    }
    for (const char* more :
         {R"(, "moe_layers": [1, 3])", R"(, "moe_layers": [])", R"(, "no_rope_layers": [1, 1, 0, 1])",
          R"(, "no_rope_layer_interval": 2)", R"(, "interleave_moe_layer_step": 3)",
          R"(, "interleave_moe_layer_step": 0)", R"(, "num_hidden_layers": 3)",
          R"(, "layer_types": ["chunked_attention", "full_attention", "chunked_attention", "full_attention"])"}) {
        INFO(more);
        CHECK_THROWS_AS(read_config(llama4(more), "config.json"), Error);
    }
    const std::string whole = fmt::format(R"({{"model_type": "llama4", "text_config": {}}})", llama4(""));
    CHECK(read_config(whole, "config.json").is_text_part);
}

TEST_CASE("formulas have the numbers of the configuration") {
    const network::Numbers numbers = {{"hidden_size", 64}, {"num_attention_heads", 4}};
    const auto text = [&](std::string_view formula) {
        const JsonValue value = network::folded(formula, numbers);
        return value.kind == JsonValue::Kind::integer ? fmt::format("{}", value.integer) : value.text;
    };
    CHECK(text("hidden_size//num_attention_heads") == "16");
    CHECK(text("B*S*hidden_size") == "64*B*S");
    CHECK(text("B*(hidden_size//num_attention_heads)+1") == "16*B+1");
    CHECK(text("(S+63)//hidden_size") == "(S+63)//64");
    CHECK(text("3*B*hidden_size//2") == "96*B");
    CHECK_THROWS_AS(network::folded("B*other", numbers), Error);
}

TEST_CASE("sizes that do not divide one another are refused, and not rounded") {
    CHECK(refusal_of_config(olmo("\"hidden_size\": 64", "\"hidden_size\": 66"), ErrorKind::invalid)
              .ends_with(": 66 is not a multiple of 4"));
    const std::string bloom =
        R"({"model_type": "bloom", "vocab_size": 320, "hidden_size": 100, "n_layer": 2, "n_head": )";
    CHECK(refusal_of_config(bloom + "4}", ErrorKind::invalid) == "read");
    CHECK(refusal_of_config(bloom + "8}", ErrorKind::invalid) ==
          "the sizes of the model: hidden_size//n_head: 100 is not a multiple of 8");
}
