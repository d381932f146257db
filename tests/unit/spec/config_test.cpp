// Reading config.json: defaults of each family, and everything that is refused.
#include "vramfit/spec/config.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "expect.hpp"
#include "support/catch.hpp"

using namespace vramfit;

namespace {

ModelSpec read(const std::string& text) { return read_config(text, "config.json"); }

// A small llama with one more member.
std::string llama(const std::string& member) {
    return R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 100)" +
           (member.empty() ? "" : ", " + member) + "}";
}

std::optional<Error> refused(const std::string& member) {
    return error_of([&] { read(llama(member)); });
}

}  // namespace

TEST_CASE("a config of nothing but its type has the defaults of transformers' class") {
    struct Row {
        const char* type;
        std::int64_t vocab, hidden, inner, layers, heads, kv, head_dim, positions;
        bool tied;
        Activation act;
    };
    // transformers 5.17.0, configuration_*.py
    const Row rows[] = {
        {"llama", 32000, 4096, 11008, 32, 32, 32, 128, 2048, false, Activation::silu},
        {"mistral", 32000, 4096, 14336, 32, 32, 8, 128, 131072, false, Activation::silu},
        {"qwen2", 151936, 4096, 22016, 32, 32, 32, 128, 32768, false, Activation::silu},
        {"qwen3", 151936, 4096, 22016, 32, 32, 32, 128, 32768, false, Activation::silu},
        {"gemma", 256000, 3072, 24576, 28, 16, 16, 256, 8192, true, Activation::gelu_tanh},
        {"gemma2", 256000, 2304, 9216, 26, 8, 4, 256, 8192, true, Activation::gelu_tanh},
        {"mixtral", 32000, 4096, 14336, 32, 32, 8, 128, 131072, false, Activation::silu},
        {"qwen2_moe", 151936, 2048, 5632, 24, 16, 16, 128, 32768, false, Activation::silu},
        {"qwen3_moe", 151936, 2048, 6144, 24, 32, 4, 64, 32768, false, Activation::silu},
        {"gpt_oss", 201088, 2880, 2880, 36, 64, 8, 64, 131072, false, Activation::silu},
        {"gemma3_text", 262208, 2304, 9216, 26, 8, 4, 256, 131072, true, Activation::gelu_tanh},
        {"phi3", 32064, 3072, 8192, 32, 32, 32, 96, 4096, false, Activation::silu},
        {"olmo2", 50304, 4096, 11008, 32, 32, 32, 128, 2048, false, Activation::silu},
        {"granite", 32000, 4096, 11008, 32, 32, 32, 128, 2048, false, Activation::silu},
        {"smollm3", 128256, 2048, 11008, 36, 16, 4, 128, 32768, true, Activation::silu},
        {"starcoder2", 49152, 3072, 12288, 30, 24, 2, 128, 4096, true, Activation::gelu_tanh},
        {"gpt2", 50257, 768, 3072, 12, 12, 12, 64, 1024, true, Activation::gelu_new},
        {"gpt_neox", 50432, 6144, 24576, 44, 64, 64, 96, 2048, false, Activation::gelu},
        {"arcee", 32000, 2560, 18432, 32, 32, 32, 80, 4096, false, Activation::relu2},
        {"cohere", 256000, 8192, 22528, 40, 64, 64, 128, 8192, true, Activation::silu},
        {"cohere2", 256000, 8192, 22528, 40, 64, 64, 128, 8192, true, Activation::silu},
        {"glm4", 151552, 4096, 13696, 40, 32, 2, 128, 131072, false, Activation::silu},
        {"nemotron", 256000, 6144, 24576, 32, 48, 48, 128, 4096, false, Activation::relu2},
        {"phi", 51200, 2048, 8192, 24, 32, 32, 64, 2048, false, Activation::gelu_new},
        {"seed_oss", 155136, 4096, 27648, 64, 80, 8, 128, 524288, false, Activation::silu},
    };
    for (const Row& row : rows) {
        INFO(row.type);
        const ModelSpec m = read(fmt::format(R"({{"model_type": "{}"}})", row.type));
        CHECK(m.model_type == row.type);
        CHECK(m.name == "config.json");
        CHECK(m.vocab_size == row.vocab);
        CHECK(m.hidden_size == row.hidden);
        CHECK(m.intermediate_size == row.inner);
        CHECK(m.num_hidden_layers == row.layers);
        CHECK(m.num_attention_heads == row.heads);
        CHECK(m.num_key_value_heads == row.kv);
        CHECK(m.head_dim == row.head_dim);
        CHECK(m.max_position_embeddings == row.positions);
        CHECK(m.tie_word_embeddings == row.tied);
        CHECK(m.hidden_act == row.act);
        CHECK(m.layer_types.size() == static_cast<std::size_t>(row.layers));
        CHECK(m.use_cache);
        CHECK(m.rope_type == (m.model_type == "gpt_oss" ? "yarn" : "default"));
        CHECK_FALSE(m.checkpoint_dtype);
        const auto is_one_of = [&](const std::set<std::string>& types) { return types.count(m.model_type) == 1; };
        const bool biased = is_one_of({"starcoder2", "gpt2", "gpt_neox", "phi"});
        CHECK(m.mlp_bias == biased);
        CHECK(m.output_bias == (biased || m.model_type == "gpt_oss"));
        CHECK(m.attention_bias ==
              (biased || m.model_type.starts_with("qwen2") || is_one_of({"gpt_oss", "glm4", "seed_oss"})));
        CHECK(m.pad_token_id.has_value() == is_one_of({"cohere", "cohere2", "gemma", "gemma2", "gemma3_text", "glm4",
                                                       "phi3", "olmo2", "seed_oss", "smollm3"}));
    }
    CHECK(model_families().size() == std::size(rows));
}

TEST_CASE("windows: who slides") {
    const auto sliding = [](const ModelSpec& m) {
        return std::count(m.layer_types.begin(), m.layer_types.end(), LayerAttention::sliding);
    };
    const auto with = [](const char* type, const char* rest) {
        return read(fmt::format(R"({{"model_type": "{}", "num_hidden_layers": 8{}}})", type, rest));
    };
    CHECK(sliding(with("llama", R"(, "sliding_window": 64)")) == 0);
    CHECK(with("mistral", "").sliding_window == 4096);
    CHECK(sliding(with("mistral", "")) == 8);
    CHECK(sliding(with("mistral", R"(, "sliding_window": null)")) == 0);
    CHECK(sliding(with("qwen2", R"(, "sliding_window": 64)")) == 0);
    CHECK(sliding(with("qwen2", R"(, "use_sliding_window": true, "sliding_window": 64)")) == 0);
    CHECK(sliding(with("qwen2", R"(, "use_sliding_window": true, "sliding_window": 64, "max_window_layers": 5)")) == 3);
    CHECK(sliding(with("qwen3", R"(, "use_sliding_window": true, "max_window_layers": 0)")) == 8);
    CHECK(sliding(with("gemma2", "")) == 4);
    CHECK(with("gemma2", "").layer_types[0] == LayerAttention::sliding);
    CHECK(with("gemma2", "").layer_types[1] == LayerAttention::full);
    CHECK(with("gemma2", "").attn_logit_softcapping == 50.0);
    CHECK(with("gemma2", "").final_logit_softcapping == 30.0);
    CHECK_FALSE(with("gemma2", R"(, "attn_logit_softcapping": null)").attn_logit_softcapping);
    CHECK(error_of([&] { with("gemma2", R"(, "sliding_window": null)"); }));
    CHECK(error_of([&] { with("qwen2", R"(, "layer_types": ["sliding_attention"])"); }));
}

TEST_CASE("mixtures of experts") {
    const auto with = [](const char* type, const char* rest) {
        return read(fmt::format(R"({{"model_type": "{}", "num_hidden_layers": 4{}}})", type, rest));
    };
    CHECK_FALSE(with("qwen3", "").mixture);
    const MixtureSpec qwen2 = *with("qwen2_moe", "").mixture;
    CHECK(qwen2.num_experts == 60);
    CHECK(qwen2.num_experts_per_tok == 4);
    CHECK(qwen2.intermediate_size == 1408);
    CHECK(qwen2.shared_expert_intermediate_size == 5632);
    CHECK_FALSE(qwen2.norm_topk_prob);
    CHECK(with("mixtral", R"(, "intermediate_size": 512)").mixture->intermediate_size == 512);
    CHECK(with("mixtral", R"(, "num_experts": 4)").mixture->num_experts == 4);
    CHECK(with("gpt_oss", "").mixture->num_experts == 128);
    const ModelSpec some = with("qwen3_moe", R"(, "mlp_only_layers": [0, 3], "decoder_sparse_step": 2)");
    CHECK_FALSE(has_experts(some, 0));
    CHECK(has_experts(some, 1));
    CHECK_FALSE(has_experts(some, 2));
    CHECK_FALSE(has_experts(some, 3));
    // Without a window qwen2_moe has one of 0, which still makes a mask.
    CHECK(with("qwen2_moe", "").sliding_window == 0);
    CHECK(with("qwen2_moe", R"(, "use_sliding_window": true)").layer_types[0] == LayerAttention::sliding);
    CHECK(with("qwen2_moe", R"(, "use_sliding_window": true)").layer_types[1] == LayerAttention::full);
    CHECK(with("gpt_oss", "").layer_types[0] == LayerAttention::sliding);
    CHECK(error_of([&] { with("mixtral", R"(, "num_experts_per_tok": 9)"); }));
    CHECK(error_of([&] { with("mixtral", R"(, "num_local_experts": 400)"); }));
    CHECK(error_of([&] { with("mixtral", R"(, "experts_implementation": "eager")"); }));
    CHECK(error_of([&] { with("mixtral", R"(, "router_jitter_noise": 0.1)"); }));
    CHECK(error_of([&] {
        with("qwen2_moe",
             R"(, "layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention"])");
    }));
    CHECK_FALSE(with("mixtral", "").mixture->router_aux_loss_coef);
    CHECK(with("mixtral", R"(, "router_aux_loss_coef": 0)").mixture->router_aux_loss_coef == 0.0);
    CHECK(error_of([&] { with("mixtral", R"(, "router_aux_loss_coef": "much")"); }));
    for (const char* type : {"mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss"}) {
        ModelSpec m = with(type, R"(, "output_router_logits": true, "router_aux_loss_coef": 0.5)");
        m.name.clear();
        ModelSpec again = read_config(to_config_text(m), "config.json");
        again.name.clear();
        CHECK(again == m);
    }
}

TEST_CASE("keys that say nothing about memory are not looked at") {
    CHECK_NOTHROW(
        read(llama(R"("rms_norm_eps": "x", "bos_token_id": [1, 2], "architectures": null, "anything": {"a": 1})")));
    CHECK(read(llama(R"("torch_dtype": "bfloat16")")).checkpoint_dtype == DType::bfloat16);
    CHECK(read(llama(R"("dtype": "float32", "torch_dtype": "bfloat16")")).checkpoint_dtype == DType::float32);
    CHECK(read(llama(R"("rope_scaling": {"type": "linear", "factor": 2.0})")).rope_type == "linear");
    CHECK(read(llama(R"("rope_scaling": null, "rope_parameters": {"rope_type": "llama3"})")).rope_type == "llama3");
    CHECK(read(llama(R"("num_key_value_heads": null, "head_dim": null)")).num_key_value_heads == 32);
    CHECK(read(llama(R"("attention_bias": true)")).output_bias);
    CHECK(read(R"({"model_type": "gemma", "hidden_act": "gelu", "hidden_activation": null})").hidden_act ==
          Activation::gelu);
}

TEST_CASE("a key with a wrong letter is reported, if the right one is absent") {
    CHECK(says(refused(R"("num_atention_heads": 8)"), "config.json /num_atention_heads",
               "did you mean 'num_attention_heads'?"));
    CHECK(says(refused(R"("head_dims": 16)"), "config.json /head_dims", "did you mean 'head_dim'?"));
    CHECK_FALSE(refused(R"("head_dims": 16, "head_dim": 16, "num_attention_heads": 4, "num_key_value_heads": 4)"));
}

TEST_CASE("nothing is converted silently") {
    const char* const wrong[] = {"4096.7", "true", "\"4096\"", "1e300", "4096.0",     "null",
                                 "[4096]", "{}",   "0",        "-1",    "4294967296", "9223372036854775808",
                                 "1e3"};
    for (const char* value : wrong) {
        for (const char* key : {"hidden_size", "vocab_size", "intermediate_size", "num_hidden_layers",
                                "num_attention_heads", "max_position_embeddings"}) {
            INFO(key << " " << value);
            const auto error =
                error_of([&] { read(fmt::format(R"({{"model_type": "llama", "{}": {}}})", key, value)); });
            REQUIRE(error);
            CHECK(error->kind() == ErrorKind::invalid);
            CHECK(says(error, fmt::format("config.json /{}", key), ""));
        }
    }
    CHECK(says(refused(R"("tie_word_embeddings": 1)"), "config.json /tie_word_embeddings",
               "true or false is wanted, not 1"));
    CHECK(says(refused(R"("tie_word_embeddings": "true")"), "config.json /tie_word_embeddings", "true or false"));
    CHECK(says(refused(R"("attention_dropout": "0.1")"), "config.json /attention_dropout", "a number is wanted"));
    CHECK(says(refused(R"("attention_dropout": 2)"), "config.json /attention_dropout", "not between 0 and 1"));
}

TEST_CASE("all problems of a file come at once") {
    const auto error = error_of([] {
        read(
            R"({"model_type": "llama", "hidden_size": 4096.7, "vocab_size": "x", "hidden_act": "sulu", "use_cache": 1})");
    });
    REQUIRE(error);
    CHECK(error->problems().size() == 4);
    CHECK(says(error, "config.json /hidden_size", "an integer is wanted, not 4096.7"));
    CHECK(says(error, "config.json /hidden_act", "did you mean 'silu'?"));
}

TEST_CASE("impossible networks are refused") {
    CHECK(says(refused(R"("num_attention_heads": 7)"), "config.json /num_attention_heads",
               "7 heads do not divide hidden_size 64"));
    CHECK(says(refused(R"("num_attention_heads": 32, "num_key_value_heads": 7)"), "config.json /num_key_value_heads",
               "7 does not divide 32 attention heads"));
    CHECK(says(refused(R"("num_attention_heads": 4, "num_key_value_heads": 8)"), "config.json /num_key_value_heads",
               "8 does not divide 4"));
    CHECK(says(refused(R"("head_dim": 15)"), "config.json /head_dim", "odd"));
    CHECK(says(error_of([] { read(R"({"model_type": "llama", "num_hidden_layers": 10001})"); }),
               "config.json /num_hidden_layers", "not between 1 and 10000"));
    CHECK(says(refused(R"("pad_token_id": 100)"), "config.json /pad_token_id", "not between -100 and 99"));
    CHECK(
        says(error_of([] { read(R"({"model_type": "llama", "vocab_size": 2147483648, "hidden_size": 2147483648})"); }),
             "config.json", "more bytes than 63 bits"));
    CHECK_NOTHROW(
        read(R"({"model_type": "qwen3", "hidden_size": 1000, "num_attention_heads": 16, "num_key_value_heads": 8})"));
    CHECK(error_of([] {
        read(R"({"model_type": "qwen2", "hidden_size": 1000, "num_attention_heads": 16, "num_key_value_heads": 8})");
    }));
}

TEST_CASE("what the keys of single families change") {
    const ModelSpec phi3 = read(R"({"model_type": "phi3", "partial_rotary_factor": 0.75})");
    CHECK(phi3.rotary_dim() == 72);
    CHECK(error_of([] { read(R"({"model_type": "phi3", "rope_scaling": {"type": "linear"}})"); }));
    const ModelSpec neox = read(R"({"model_type": "gpt_neox", "rotary_pct": 0.25, "num_key_value_heads": 2})");
    CHECK(neox.rotary_dim() == 24);
    CHECK(neox.num_key_value_heads == 64);
    CHECK(error_of([] { read(R"({"model_type": "gpt_neox", "head_dim": 64})"); }));
    const ModelSpec gpt2 = read(R"({"model_type": "gpt2", "n_embd": 96, "n_head": 6, "head_dim": 99, "n_layer": 2})");
    CHECK(gpt2.head_dim == 16);
    CHECK(gpt2.intermediate_size == 384);
    CHECK(gpt2.attention_dropout == 0.1);
    CHECK(gpt2.layer_types.size() == 2);
    CHECK(error_of([] { read(R"({"model_type": "gpt2", "add_cross_attention": true})"); }));
    const ModelSpec smollm3 = read(R"({"model_type": "smollm3", "num_hidden_layers": 8})");
    CHECK(smollm3.no_rope_layers == std::vector<std::int64_t>{1, 1, 1, 0, 1, 1, 1, 0});
    CHECK_FALSE(smollm3.sliding_window);
    const ModelSpec gemma3 = read(R"({"model_type": "gemma3_text", "num_hidden_layers": 7})");
    CHECK(std::count(gemma3.layer_types.begin(), gemma3.layer_types.end(), LayerAttention::full) == 1);
    CHECK(gemma3.layer_types[5] == LayerAttention::full);
    CHECK(error_of([] { read(R"({"model_type": "gemma3_text", "use_bidirectional_attention": true})"); }));
}

TEST_CASE("without a word about targets, queries and values get adapters") {
    const auto targets = [](const char* type) {
        return default_targets(read(fmt::format(R"({{"model_type": "{}"}})", type)));
    };
    CHECK(targets("llama") == std::vector<std::string>{"q_proj", "v_proj"});
    CHECK(targets("gpt2") == std::vector<std::string>{"c_attn"});
    CHECK(targets("gpt_neox") == std::vector<std::string>{"query_key_value"});
    CHECK(targets("phi3") == std::vector<std::string>{"qkv_proj"});
}

TEST_CASE("the text part of a model of text and images is read") {
    const ModelSpec model = read(
        R"({"model_type": "gemma3", "dtype": "bfloat16", "vision_config": {"hidden_size": 1152}, "text_config": {"num_hidden_layers": 6, "head_dim": 128}})");
    CHECK(model.model_type == "gemma3_text");
    CHECK(model.head_dim == 128);
    CHECK(model.num_hidden_layers == 6);
    CHECK(model.checkpoint_dtype == DType::bfloat16);
    CHECK(error_of([] { read(R"({"model_type": "gemma3", "text_config": {"hidden_size": 0}})"); }));
    // Gemma3Config takes it for one of its own; here a type that is recorded, and one that is written by hand.
    for (const char* type : {"olmo3", "llama"}) {
        const auto refused = error_of(
            [&] { read(fmt::format(R"({{"model_type": "gemma3", "text_config": {{"model_type": "{}"}}}})", type)); });
        REQUIRE(refused);
        CHECK(refused->kind() == ErrorKind::unsupported);
        CHECK(refused->problems().at(0).what == fmt::format("\"{}\" is no text part of gemma3", type));
    }
}

TEST_CASE("other networks are unsupported, a missing type is not understood") {
    const auto unknown = error_of([] { read(R"({"model_type": "xlstm", "hidden_size": "x"})"); });
    REQUIRE(unknown);
    CHECK(unknown->kind() == ErrorKind::unsupported);
    CHECK(says(unknown, "config.json /model_type", "supported: arcee, cohere, cohere2, gemma, "));
    const auto missing = error_of([] { read("{}"); });
    REQUIRE(missing);
    CHECK(missing->kind() == ErrorKind::invalid);
    for (const char* member : {R"("text_config": {"a": 1})", R"("quantization_config": {"quant_method": "gptq"})",
                               R"("hidden_act": "quick_gelu")", R"("rope_scaling": {"rope_type": "mrope"})",
                               R"("dtype": "float8_e4m3fn")", R"("per_layer_config": {"0": {"hidden_size": 2}})"}) {
        INFO(member);
        REQUIRE(refused(member));
        CHECK(refused(member)->kind() == ErrorKind::unsupported);
    }
    for (const char* text : {"[]", "1", "null", "\"llama\"", R"({"model_type": 1})", R"({"model_type": null})"}) {
        INFO(text);
        const auto error = error_of([&] { read(text); });
        REQUIRE(error);
        CHECK(error->kind() == ErrorKind::invalid);
    }
}

TEST_CASE("a network written as config.json reads back as the same network") {
    const char* const configs[] = {
        R"({"model_type": "llama", "attention_bias": true, "mlp_bias": true, "dtype": "float16", "rope_scaling": {"rope_type": "yarn"}, "pad_token_id": 5})",
        R"({"model_type": "mistral", "sliding_window": null, "use_cache": false})",
        R"({"model_type": "qwen2", "use_sliding_window": true, "max_window_layers": 3, "attention_dropout": 0.1})",
        R"({"model_type": "qwen3", "head_dim": 64, "hidden_act": "relu"})",
        R"({"model_type": "gemma", "hidden_act": "gelu", "pad_token_id": null})",
        R"({"model_type": "gemma2", "attn_logit_softcapping": null, "final_logit_softcapping": 12.5})",
        R"({"model_type": "gemma3_text", "sliding_window_pattern": 3, "sliding_window": 512})",
        R"({"model_type": "phi3", "resid_pdrop": 0.1, "partial_rotary_factor": 0.75, "sliding_window": 2047, "original_max_position_embeddings": 512, "rope_scaling": {"type": "su"}})",
        R"({"model_type": "olmo2", "attention_bias": true, "num_key_value_heads": 8})",
        R"({"model_type": "granite", "mlp_bias": true})",
        R"({"model_type": "gpt_oss", "rope_parameters": {"rope_type": "default"}})",
        R"({"model_type": "smollm3", "no_rope_layer_interval": 2, "use_sliding_window": true, "sliding_window": 64})",
        R"({"model_type": "starcoder2", "use_bias": false, "residual_dropout": 0.1, "embedding_dropout": 0.2})",
        R"({"model_type": "gpt2", "n_embd": 96, "n_layer": 3, "n_head": 6, "n_positions": 64, "n_inner": 100, "attn_pdrop": 0})",
        R"({"model_type": "gpt_neox", "rotary_pct": 0.5, "hidden_dropout": 0.1, "use_parallel_residual": false})",
    };
    for (const char* config : configs) {
        const ModelSpec model = read(config);
        CHECK(read(to_config_text(model)) == model);
    }
}
