// What the network is: the shape of a decoder-only transformer, as its config.json says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/base/dtype.hpp"

namespace vramfit {

enum class Activation : std::uint8_t { silu, gelu, gelu_tanh, relu };

/// How a decoder layer attends.
enum class LayerAttention : std::uint8_t { full, sliding };

/// Sizes and switches of one network. Field names are those of config.json.
struct ModelSpec {
    std::string name;        ///< how the user called it: built-in name, id, path
    std::string model_type;  ///< the family: "llama", "gemma2", ...
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
    double attention_dropout = 0.0;
    bool use_cache = true;
    std::optional<std::int64_t> pad_token_id;
    std::optional<std::int64_t> sliding_window;     ///< absent: no layer slides
    std::optional<std::int64_t> unused_window;      ///< qwen2, qwen3: sliding_window where use_sliding_window is off
    std::vector<LayerAttention> layer_types;        ///< one for each layer
    std::optional<double> attn_logit_softcapping;   ///< gemma2
    std::optional<double> final_logit_softcapping;  ///< gemma2
    std::string rope_type = "default";              ///< "default", "linear", "dynamic", "llama3", "yarn", ...
    std::optional<DType> checkpoint_dtype;          ///< `dtype` or `torch_dtype`

    friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

}  // namespace vramfit
