// Writing a network as a config.json that reads back as the same network.
#include <algorithm>

#include "spec/config_read.hpp"
#include "spec/json_parse.hpp"
#include "spec/network/document.hpp"
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
        case Activation::relu2: return "relu2";
    }
    return "";
}

template <class T>
JsonValue count_or_null(const std::optional<T>& value) {
    return value ? JsonValue::of(*value) : JsonValue{};
}

void put_mixture(const ModelSpec& m, JsonValue& out) {
    const MixtureSpec& mixture = *m.mixture;
    const bool qwen = m.model_type == "qwen2_moe" || m.model_type == "qwen3_moe";
    out.put(qwen ? "num_experts" : "num_local_experts", JsonValue::of(mixture.num_experts));
    out.put("num_experts_per_tok", JsonValue::of(mixture.num_experts_per_tok));
    out.put("output_router_logits", JsonValue::of(mixture.output_router_logits));
    if (mixture.router_aux_loss_coef) out.put("router_aux_loss_coef", JsonValue::of(*mixture.router_aux_loss_coef));
    if (!qwen) return;
    out.put("moe_intermediate_size", JsonValue::of(mixture.intermediate_size));
    out.put("norm_topk_prob", JsonValue::of(mixture.norm_topk_prob));
    out.put("decoder_sparse_step", JsonValue::of(mixture.decoder_sparse_step));
    std::vector<JsonValue> plain;
    for (const std::int64_t layer : mixture.mlp_only_layers) plain.push_back(JsonValue::of(layer));
    out.put("mlp_only_layers", JsonValue::list(std::move(plain)));
    if (m.model_type == "qwen2_moe")
        out.put("shared_expert_intermediate_size", JsonValue::of(mixture.shared_expert_intermediate_size));
}

bool is_one_of(const ModelSpec& m, std::initializer_list<std::string_view> types) {
    return std::find(types.begin(), types.end(), m.model_type) != types.end();
}

void put_windows(const ModelSpec& m, JsonValue& out) {
    const bool by_switch = is_one_of(m, {"qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "smollm3"});
    const bool alternates = is_one_of(m, {"cohere2", "gemma2", "gemma3_text", "gpt_oss"});
    // qwen2_moe keeps a window of 0 where there is none.
    const std::optional<std::int64_t> window = m.sliding_window.value_or(0) > 0 ? m.sliding_window : std::nullopt;
    if (by_switch) out.put("use_sliding_window", JsonValue::of(window.has_value()));
    if (by_switch || alternates || is_one_of(m, {"mistral", "mixtral", "phi3", "starcoder2"}))
        out.put("sliding_window", count_or_null(window ? window : m.unused_window));
    // Without the key the layers of some families alternate, and the others' are all full if there is no window.
    if (!alternates && !(by_switch && m.model_type != "qwen3_moe" && window)) return;
    std::vector<JsonValue> types;
    for (const LayerAttention type : m.layer_types) {
        types.push_back(JsonValue::of(type == LayerAttention::sliding ? "sliding_attention" : "full_attention"));
    }
    out.put("layer_types", JsonValue::list(std::move(types)));
}

void put_dropouts(const ModelSpec& m, JsonValue& out) {
    const bool gpt2 = m.model_type == "gpt2";
    if (m.classifier_dropout != ModelSpec{}.classifier_dropout)
        out.put("classifier_dropout", JsonValue::of(m.classifier_dropout));
    out.put(gpt2 ? "attn_pdrop" : "attention_dropout", JsonValue::of(m.attention_dropout));
    if (gpt2 || is_one_of(m, {"phi", "phi3"})) out.put("resid_pdrop", JsonValue::of(m.residual_dropout));
    if (gpt2 || m.model_type == "phi") out.put("embd_pdrop", JsonValue::of(m.embedding_dropout));
    if (m.model_type == "gpt_neox") out.put("hidden_dropout", JsonValue::of(m.residual_dropout));
    if (m.model_type != "starcoder2") return;
    out.put("residual_dropout", JsonValue::of(m.residual_dropout));
    out.put("embedding_dropout", JsonValue::of(m.embedding_dropout));
}

// The keys that only some families have.
void put_family(const ModelSpec& m, JsonValue& out) {
    if (m.mixture) put_mixture(m, out);
    if (m.model_type == "qwen2_moe") out.put("qkv_bias", JsonValue::of(m.attention_bias));
    if (!is_one_of(m, {"mistral", "mixtral", "qwen2", "qwen2_moe", "phi", "phi3", "starcoder2", "gpt2"}))
        out.put("attention_bias", JsonValue::of(m.attention_bias));
    if (is_one_of(m, {"arcee", "granite", "llama", "nemotron", "smollm3"}))
        out.put("mlp_bias", JsonValue::of(m.mlp_bias));
    if (m.model_type == "seed_oss") {
        out.put("attention_out_bias", JsonValue::of(m.output_bias));
        out.put("mlp_bias", JsonValue::of(m.mlp_bias));
        out.put("residual_dropout", JsonValue::of(m.residual_dropout));
    }
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
    if (m.model_type == "cohere") out.put("use_qk_norm", JsonValue::of(m.normed_heads));
    if (m.model_type == "gpt_neox") {
        out.put("use_parallel_residual", JsonValue::of(m.use_parallel_residual));
        out.put("rotary_pct", JsonValue::of(m.partial_rotary_factor));
    }
    if (is_one_of(m, {"glm4", "nemotron", "phi", "phi3"}))
        out.put("partial_rotary_factor", JsonValue::of(m.partial_rotary_factor));
    if (m.model_type == "phi3")
        out.put("original_max_position_embeddings", JsonValue::of(m.original_max_position_embeddings));
}

const char* activation_key(const ModelSpec& m) {
    if (m.model_type == "gpt2") return "activation_function";
    return is_one_of(m, {"gemma2", "gemma3_text"}) ? "hidden_activation" : "hidden_act";
}

}  // namespace

namespace {

JsonValue packed_to_json(const std::vector<std::string>& skipped) {
    return JsonValue::object()
        .put("quant_method", JsonValue::of(std::string_view("bitsandbytes")))
        .put("load_in_4bit", JsonValue::of(true))
        .put("bnb_4bit_quant_type", JsonValue::of(std::string_view("nf4")))
        .put("bnb_4bit_use_double_quant", JsonValue::of(true))
        .put("llm_int8_skip_modules", JsonValue::texts(skipped));
}

/// Of a recorded network what reports say of every model; its file says the rest.
JsonValue recorded_to_json(const ModelSpec& m) {
    const network::Document& recording = *m.recording;
    if (recording.of_type) {
        Problems problems(recording.file);
        JsonValue given = parse_json(recording.given, problems);
        if (m.is_text_part && !given.find("text_part")) given.put("text_part", JsonValue::of(true));
        return given;
    }
    JsonValue out = JsonValue::object();
    out.put("model_type", JsonValue::of(std::string_view(m.model_type)));
    out.put("vocab_size", JsonValue::of(m.vocab_size));
    out.put("hidden_size", JsonValue::of(m.hidden_size));
    out.put("num_hidden_layers", JsonValue::of(m.num_hidden_layers));
    out.put("tie_word_embeddings", JsonValue::of(m.tie_word_embeddings));
    out.put("recording", JsonValue::object()
                             .put("file", JsonValue::of(std::string_view(recording.file)))
                             .put("transformers", JsonValue::of(std::string_view(recording.transformers)))
                             .put("torch", JsonValue::of(std::string_view(recording.torch))));
    return out;
}

}  // namespace

JsonValue model_to_json(const ModelSpec& m) {
    if (m.recording) return recorded_to_json(m);
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
    if (m.rope_type != "default" || m.model_type == "gpt_oss")  // whose own default is yarn
        out.put("rope_scaling", JsonValue::object().put("rope_type", JsonValue::of(std::string_view(m.rope_type))));
    if (m.checkpoint_dtype) out.put("dtype", JsonValue::of(name_of(*m.checkpoint_dtype)));
    if (m.is_text_part) out.put("text_part", JsonValue::of(true));
    if (m.packed_but_for) out.put("quantization_config", packed_to_json(*m.packed_but_for));
    return out;
}

std::string to_config_text(const ModelSpec& model) { return to_text(model_to_json(model)); }

}  // namespace vramfit
