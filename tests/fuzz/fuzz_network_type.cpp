// Fuzzing the reader of recorded types: what it makes of a small configuration.
#include "reads.hpp"
#include "spec/json_parse.hpp"
#include "spec/network/type.hpp"

using namespace vramfit;

namespace {

constexpr std::string_view kConfig =
    R"({"model_type": "olmo", "vocab_size": 320, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) {
        Problems problems("config.json");
        const JsonValue config = parse_json(kConfig, problems);
        if (network::instantiate(text, config, "", "config.json").variants.empty()) std::abort();
    });
}
