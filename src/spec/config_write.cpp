// Writing a network as a config.json that reads back as the same network.
#include <algorithm>

#include "spec/config_read.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit {

namespace {

const char* word_of(Activation activation) {
    switch (activation) {
        case Activation::silu: return "silu";
        case Activation::gelu: return "gelu";
        case Activation::gelu_tanh: return "gelu_pytorch_tanh";
        case Activation::gelu_new: return "gelu_new";
        case Activation::gelu_fast: return "gelu_fast";
        case Activation::relu: return "relu";
    }
    return "";
}

template <class T>
JsonValue count_or_null(const std::optional<T>& value) {
    return value ? JsonValue::of(*value) : JsonValue{};
}

bool is_one_of(const ModelSpec& m, std::initializer_list<std::string_view> types) {
    return std::find(types.begin(), types.end(), m.model_type) != types.end();
}

void put_windows(const ModelSpec& m, JsonValue& out) {
    const bool by_switch = is_one_of(m, {"qwen2", "qwen3", "smollm3"});
    const bool alternates = is_one_of(m, {"gemma2", "gemma3_text"});
    if (by_switch) out.put("use_sliding_window", JsonValue::of(m.sliding_window.has_value()));
    if (by_switch || alternates || is_one_of(m, {"mistral", "phi3", "starcoder2"}))
        out.put("sliding_window", count_or_null(m.sliding_window));
    // Without the key the layers of some families alternate, and the others' are all full if there is no window.
    if (!alternates && !(by_switch && m.sliding_window)) return;
    std::vector<JsonValue> types;
    for (const LayerAttention type : m.layer_types) {
        types.push_back(JsonValue::of(type == LayerAttention::sliding ? "sliding_attention" : "full_attention"));
    }
    out.put("layer_types", JsonValue::list(std::move(types)));
}

void put_dropouts(const ModelSpec& m, JsonValue& out) {
    const bool gpt2 = m.model_type == "gpt2";
    out.put(gpt2 ? "attn_pdrop" : "attention_dropout", JsonValue::of(m.attention_dropout));
    if (gpt2 || m.model_type == "phi3") out.put("resid_pdrop", JsonValue::of(m.residual_dropout));
    if (gpt2) out.put("embd_pdrop", JsonValue::of(m.embedding_dropout));
    if (m.model_type == "gpt_neox") out.put("hidden_dropout", JsonValue::of(m.residual_dropout));
    if (m.model_type != "starcoder2") return;
    out.put("residual_dropout", JsonValue::of(m.residual_dropout));
    out.put("embedding_dropout", JsonValue::of(m.embedding_dropout));
}

// The keys that only some families have.
void put_family(const ModelSpec& m, JsonValue& out) {
    if (!is_one_of(m, {"mistral", "qwen2", "phi3", "starcoder2", "gpt2"}))
        out.put("attention_bias", JsonValue::of(m.attention_bias));
    if (is_one_of(m, {"llama", "granite", "smollm3"})) out.put("mlp_bias", JsonValue::of(m.mlp_bias));
    if (m.model_type == "starcoder2") out.put("use_bias", JsonValue::of(m.mlp_bias));
    put_windows(m, out);
    if (is_one_of(m, {"gemma2", "gemma3_text"})) {
        out.put("attn_logit_softcapping", count_or_null(m.attn_logit_softcapping));
        out.put("final_logit_softcapping", count_or_null(m.final_logit_softcapping));
    }
    if (m.model_type == "smollm3") {
        std::vector<JsonValue> layers;
        for (const std::int64_t turns : m.no_rope_layers) layers.push_back(JsonValue::of(turns));
        out.put("no_rope_layers", JsonValue::list(std::move(layers)));
    }
    if (m.model_type == "gpt2") out.put("n_inner", JsonValue::of(m.intermediate_size));
    if (m.model_type == "gpt_neox") {
        out.put("use_parallel_residual", JsonValue::of(m.use_parallel_residual));
        out.put("rotary_pct", JsonValue::of(m.partial_rotary_factor));
    }
    if (m.model_type != "phi3") return;
    out.put("original_max_position_embeddings", JsonValue::of(m.original_max_position_embeddings));
    out.put("partial_rotary_factor", JsonValue::of(m.partial_rotary_factor));
}

const char* activation_key(const ModelSpec& m) {
    if (m.model_type == "gpt2") return "activation_function";
    return is_one_of(m, {"gemma2", "gemma3_text"}) ? "hidden_activation" : "hidden_act";
}

}  // namespace

JsonValue model_to_json(const ModelSpec& m) {
    JsonValue out = JsonValue::object();
    out.put("model_type", JsonValue::of(std::string_view(m.model_type)));
    out.put("vocab_size", JsonValue::of(m.vocab_size));
    out.put("hidden_size", JsonValue::of(m.hidden_size));
    out.put("intermediate_size", JsonValue::of(m.intermediate_size));
    out.put("num_hidden_layers", JsonValue::of(m.num_hidden_layers));
    out.put("num_attention_heads", JsonValue::of(m.num_attention_heads));
    out.put("num_key_value_heads", JsonValue::of(m.num_key_value_heads));
    out.put("head_dim", JsonValue::of(m.head_dim));
    out.put("max_position_embeddings", JsonValue::of(m.max_position_embeddings));
    out.put(activation_key(m), JsonValue::of(word_of(m.hidden_act)));
    out.put("tie_word_embeddings", JsonValue::of(m.tie_word_embeddings));
    put_family(m, out);
    put_dropouts(m, out);
    out.put("use_cache", JsonValue::of(m.use_cache));
    out.put("pad_token_id", count_or_null(m.pad_token_id));
    if (m.rope_type != "default")
        out.put("rope_scaling", JsonValue::object().put("rope_type", JsonValue::of(std::string_view(m.rope_type))));
    if (m.checkpoint_dtype) out.put("dtype", JsonValue::of(name_of(*m.checkpoint_dtype)));
    return out;
}

std::string to_config_text(const ModelSpec& model) { return to_text(model_to_json(model)); }

}  // namespace vramfit
