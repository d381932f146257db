// What the network is: the shape of a decoder-only transformer, as its config.json says it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/base/dtype.hpp"

namespace vramfit {

namespace network {
struct Document;
}

enum class Activation : std::uint8_t { silu, gelu, gelu_tanh, gelu_new, gelu_fast, relu, relu2 };

/// How a decoder layer attends.
enum class LayerAttention : std::uint8_t { full, sliding };

/// A mixture of experts in place of the MLP of some or all layers. Field names are those of config.json where families
/// agree.
struct MixtureSpec {
    std::int64_t num_experts = 0;          ///< num_local_experts in mixtral and gpt_oss
    std::int64_t num_experts_per_tok = 0;  ///< top-k of the router
    std::int64_t intermediate_size = 0;    ///< of one expert
    std::int64_t shared_expert_intermediate_size = 0;
    std::int64_t decoder_sparse_step = 1;             ///< every so many layers one with experts
    std::vector<std::int64_t> mlp_only_layers = {};   ///< layers without experts
    bool norm_topk_prob = false;                      ///< the chosen experts' weights are made to add up to 1
    bool output_router_logits = false;                ///< the loss that balances the experts is added
    std::optional<double> router_aux_loss_coef = {};  ///< its weight, where the file says one; no family's own is 0

    friend bool operator==(const MixtureSpec&, const MixtureSpec&) = default;
};

/// Sizes and switches of one network. Field names are those of config.json.
struct ModelSpec {
    std::string name;           ///< how the user called it: built-in name, id, path
    std::string model_type;     ///< the family: "llama", "gemma2", ...
    bool is_text_part = false;  ///< of a model of text and images, which is left out
    /// Of a text part the config.json of the whole, where the type of the whole was recorded (as_loaded).
    std::string whole_config = {};
    /// Adapters of modules that transformers 4 had reach the parameters that they are part of now (under_release).
    bool adapters_reach_experts = true;
    std::int64_t vocab_size = 0;
    std::int64_t hidden_size = 0;
    std::int64_t intermediate_size = 0;
    std::int64_t num_hidden_layers = 0;
    std::int64_t num_attention_heads = 0;
    std::int64_t num_key_value_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t max_position_embeddings = 0;
    Activation hidden_act = Activation::silu;
    bool tie_word_embeddings = false;
    bool attention_bias = false;  ///< biases on q, k, v (qwen2 always; o_proj too where the family says so)
    bool output_bias = false;     ///< bias on o_proj
    bool mlp_bias = false;
    bool head_bias = false;           ///< phi
    std::int64_t num_labels = 0;      ///< of a head that classifies sequences or tokens; 0: the language model's
    bool labels_tokens = false;       ///< that head classifies tokens
    double classifier_dropout = 0.1;  ///< in front of it then
    double attention_dropout = 0.0;
    double residual_dropout = 0.0;   ///< behind attention and MLP
    double embedding_dropout = 0.0;  ///< behind the embedding
    bool dropout_modules = true;     ///< of a recorded network: whether nn.Dropout drops
    bool use_cache = true;
    std::optional<std::int64_t> pad_token_id;
    std::optional<std::int64_t> sliding_window;     ///< absent: no layer slides
    std::optional<std::int64_t> unused_window;      ///< qwen2, qwen3: sliding_window where use_sliding_window is off
    std::vector<LayerAttention> layer_types;        ///< one for each layer
    std::optional<double> attn_logit_softcapping;   ///< gemma2
    std::optional<double> final_logit_softcapping;  ///< gemma2
    std::string rope_type = "default";              ///< "default", "linear", "dynamic", "llama3", "yarn", ...
    double partial_rotary_factor = 1.0;             ///< part of each head's vector that is turned
    std::int64_t original_max_position_embeddings = 0;  ///< phi3 with "longrope"
    std::vector<std::int64_t> no_rope_layers;           ///< smollm3: 0 for each layer that turns nothing
    bool use_parallel_residual = true;                  ///< gpt_neox
    bool normed_heads = false;                          ///< cohere: use_qk_norm
    std::optional<DType> checkpoint_dtype;              ///< `dtype` or `torch_dtype`
    std::optional<MixtureSpec> mixture;                 ///< absent: no layer has experts
    /// The checkpoint has its weights in nf4 with double quantization, but for these modules (quantization_config's
    /// llm_int8_skip_modules); absent: in its dtype.
    std::optional<std::vector<std::string>> packed_but_for;
    /// A network that was recorded from its own Python (docs/reference/network.md); null: one of the families.
    std::shared_ptr<const network::Document> recording;

    /// How many numbers of each head's vector are turned.
    std::int64_t rotary_dim() const {
        return static_cast<std::int64_t>(static_cast<double>(head_dim) * partial_rotary_factor);
    }

    friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// Whether layer `layer` has experts: modeling_qwen2_moe.py, Qwen2MoeDecoderLayer; in other families all have.
bool has_experts(const ModelSpec& model, std::int64_t layer);

}  // namespace vramfit
