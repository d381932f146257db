// How the modules of a network are listed: names around the decoder layers, and the modules of one layer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vramfit/spec/modules.hpp"

namespace vramfit {

/// Names outside of the decoder layers; empty: there is no such module.
struct ModuleNames {
    std::string_view base = "model";  ///< base_model_prefix
    std::string_view embedding = "embed_tokens";
    std::string_view positions = "";  ///< a table of learned positions
    std::string_view dropout = "";    ///< behind the embedding
    std::string_view layers = "layers";
    std::string_view norm = "norm";
    std::string_view rotary = "rotary_emb";
    std::string_view head = "lm_head";
    std::string_view published_head = "";  ///< its name in checkpoints, where it differs
    bool norm_bias = false;                ///< of the norm behind the layers
};

/// Collects the modules of one decoder layer.
class LayerModules {
  public:
    LayerModules(std::string prefix, int layer, std::vector<NamedModule>& out)
        : prefix_(std::move(prefix)), layer_(layer), out_(&out) {}

    int layer() const { return layer_; }
    void other(std::string_view name) { put(ModulePart::other, ModuleKind::other, name, 0, 0, false); }
    void linear(ModulePart part, std::string_view name, std::int64_t in, std::int64_t out, bool bias) {
        put(part, ModuleKind::linear, name, in, out, bias);
    }
    void conv1d(ModulePart part, std::string_view name, std::int64_t in, std::int64_t out) {
        put(part, ModuleKind::conv1d, name, in, out, true);
    }
    /// `published`: its name in checkpoints, where it differs.
    void bare(ModulePart part, std::string_view name, std::vector<BareParameter> parameters,
              std::string_view published = "");
    void norm(ModulePart part, std::string_view name, std::int64_t width, bool bias = false) {
        put(part, ModuleKind::norm, name, 0, width, bias);
    }

  private:
    void put(ModulePart part, ModuleKind kind, std::string_view name, std::int64_t in, std::int64_t out, bool bias);

    std::string prefix_;
    int layer_;
    std::vector<NamedModule>* out_;
};

/// Widths of the norms on queries and keys; 0: there are none.
struct QueryKeyNorms {
    std::int64_t query = 0;
    std::int64_t key = 0;
};

/// `self_attn` with q_proj, k_proj, v_proj and o_proj, as Llama has it.
void separate_attention(const ModelSpec& model, LayerModules& layer, QueryKeyNorms norms = {});

/// The same behind a module `self_attn` that has parameters of its own.
void attention_projections(const ModelSpec& model, LayerModules& layer, QueryKeyNorms norms = {});

/// `mlp` with gate_proj, up_proj and down_proj.
void gated_mlp(const ModelSpec& model, LayerModules& layer);

/// `mlp` with gate and up in one layer, gate_up_proj, and down_proj: as Phi3 has it.
void joined_mlp(const ModelSpec& model, LayerModules& layer);

/// The experts' weights as one parameter each for [gate; up] and down; `gate`, `up`, `down` are their names in
/// checkpoints.
std::vector<BareParameter> merged_experts(const ModelSpec& model, std::string_view gate, std::string_view up,
                                          std::string_view down);

/// Norms before and behind attention and MLP.
void four_norms(const ModelSpec& model, LayerModules& layer);

/// Both of these behind one norm.
void cohere_layer(const ModelSpec& model, LayerModules& layer);

/// Llama's layer: both of these, and a norm before each.
void llama_layer(const ModelSpec& model, LayerModules& layer);

}  // namespace vramfit
