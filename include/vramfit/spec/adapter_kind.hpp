// The kinds of adapters that peft knows beside LoRA, and what their configurations hold of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vramfit {

/// `target_modules`: names (suffixes), or one text: "all-linear" or a regular expression.
using TargetModules = std::variant<std::vector<std::string>, std::string>;

/// peft's `peft_type`.
enum class AdapterKind : std::uint8_t {
    lora,
    ia3,
    loha,
    lokr,
    vera,
    oft,
    adalora,
    ln_tuning,
    hra,
    miss,
    prompt_tuning,
    p_tuning,
    prefix_tuning,
    trainable_tokens,
    road,
    randlora,
    vblora,
    delora,
    gralora,
    pvera,
    unilora,
    lily,
    glora,
    deft,
    beft,
    hira,
    supertuning,
    peanut,
    adaption_prompt,
    tinylora,
    psoft,
    osf,
    cartridge,
};

/// How GLoRA makes one of its five terms.
enum class GloraPath : std::uint8_t { lora, vector, constant, none };

/// How many of a matrix's ranks: a number, or a share of the smaller side.
struct RankOrShare {
    double value = 0.5;
    bool is_share = true;

    friend bool operator==(const RankOrShare&, const RankOrShare&) = default;
};

/// What only some kinds have; the others keep the values that stand here.
struct AdapterOptions {
    std::optional<TargetModules> feedforward_modules;  ///< IA3Config; absent: peft's table
    bool decompose_both = false;                       ///< LoKrConfig
    std::int64_t decompose_factor = -1;                ///< LoKrConfig
    std::int64_t blocks = 0;                           ///< OFTConfig.r
    std::int64_t block_size = 32;                      ///< OFTConfig.oft_block_size
    bool block_share = false;                          ///< OFTConfig
    bool use_cayley_neumann = true;                    ///< OFTConfig
    std::int64_t cayley_neumann_terms = 5;             ///< OFTConfig.num_cayley_neumann_terms
    double orth_reg_weight = 0.5;                      ///< AdaLoraConfig
    std::int64_t virtual_tokens = 0;                   ///< PromptLearningConfig.num_virtual_tokens
    std::string prompt_init = "RANDOM";                ///< PromptTuningConfig.prompt_tuning_init
    std::optional<std::int64_t> encoder_hidden_size;   ///< PromptEncoderConfig, PrefixTuningConfig
    bool prefix_projection = false;                    ///< PrefixTuningConfig
    std::int64_t road_variant = 1;                     ///< RoadConfig.variant: road_1, road_2, road_4
    std::int64_t group_size = 64;                      ///< RoadConfig
    std::int64_t num_vectors = 256;                    ///< VBLoRAConfig
    std::int64_t vector_length = 256;                  ///< VBLoRAConfig
    std::int64_t topk = 2;                             ///< VBLoRAConfig
    std::int64_t hybrid_r = 0;                         ///< GraloraConfig: of a LoRA beside it; 0: none
    std::int64_t gralora_k = 2;                        ///< GraloraConfig
    std::int64_t theta_d_length = 256;                 ///< UniLoraConfig
    std::int64_t stride_a = 1;                         ///< LilyConfig.stride_A
    std::int64_t num_b = 2;                            ///< LilyConfig.num_B
    GloraPath glora_a_b = GloraPath::lora;             ///< GloraConfig.config_A_B
    GloraPath glora_c = GloraPath::lora;               ///< GloraConfig.config_C
    GloraPath glora_d_e = GloraPath::constant;         ///< GloraConfig.config_D_E
    bool para = false;                                 ///< DeftConfig
    bool init_weights = true;                          ///< DeftConfig: reads the layers' weights
    double sparsity = 0.99;                            ///< SupertuningConfig
    std::int64_t supra_r = 0;                          ///< SupertuningConfig.r: of a LoRA beside it; 0: none
    std::int64_t depth = 0;                            ///< PeanutConfig
    std::string act_fn = "relu";                       ///< PeanutConfig
    std::int64_t adapter_len = 0;                      ///< AdaptionPromptConfig
    std::int64_t adapter_layers = 0;                   ///< AdaptionPromptConfig
    std::int64_t frozen_tokens = 1;                    ///< CartridgeConfig.num_frozen_tokens
    std::int64_t u = 64;                               ///< TinyLoraConfig
    double weight_tying = 0;                           ///< TinyLoraConfig
    bool psoft_orth = true;                            ///< PsoftConfig
    bool psoft_neumann = false;                        ///< PsoftConfig.use_cayley_neumann
    bool psoft_mag_a = true;                           ///< PsoftConfig
    bool psoft_mag_b = true;                           ///< PsoftConfig
    RankOrShare effective_rank;                        ///< OSFConfig: of what is not trained
    std::vector<std::pair<std::string, RankOrShare>> effective_ranks;  ///< OSFConfig.rank_pattern
    std::vector<std::int64_t> token_indices;  ///< TrainableTokensConfig; LoraConfig.trainable_token_indices
    std::string tokens_of;                    ///< the module that LoraConfig names; empty: the embedding

    friend bool operator==(const AdapterOptions&, const AdapterOptions&) = default;
};

/// What is said of a kind.
struct AdapterKindFacts {
    AdapterKind kind = AdapterKind::lora;
    std::string_view peft_type;  ///< "IA3"
    std::string_view name;       ///< "ia3"
    std::string_view title;      ///< "IA3"
    std::string_view rank_key;   ///< of its configuration; empty: it has no rank
    std::int64_t rank = 8;       ///< that it has by default; 1 where it has none
    bool over_packed = false;    ///< over bitsandbytes' 4-bit and 8-bit layers
    bool over_conv1d = false;    ///< over transformers' Conv1D
    bool is_prompt = false;      ///< virtual tokens in front of each row, and no module is wrapped
    bool takes_apart = false;    ///< the weights of the layers, by SVD, when it is made

    bool has_rank() const { return !rank_key.empty(); }
};

/// Whether modules with weights are wrapped: neither virtual tokens, rows of the embedding nor attention as a whole.
constexpr bool wraps_modules(const AdapterKindFacts& facts) {
    return !facts.is_prompt && facts.kind != AdapterKind::trainable_tokens &&
           facts.kind != AdapterKind::adaption_prompt;
}

/// Whether virtual tokens stand in the cache of keys and values, not among the embeddings.
constexpr bool fills_cache(AdapterKind kind) {
    return kind == AdapterKind::prefix_tuning || kind == AdapterKind::cartridge;
}

/// All that are predicted, LoRA first.
std::span<const AdapterKindFacts> adapter_kinds();
const AdapterKindFacts& facts_of(AdapterKind kind);
/// Whether its configuration has a dropout in front of the adapter.
bool has_dropout(AdapterKind kind);
/// By its name or `peft_type`, in any case, underscores or not; null: not predicted.
const AdapterKindFacts* find_adapter_kind(std::string_view name);
/// Why a kind of peft's is not predicted, behind a colon; empty: nobody has looked.
std::string why_not_predicted(std::string_view name);

}  // namespace vramfit
