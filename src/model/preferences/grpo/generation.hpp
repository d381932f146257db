// transformers' generate, which samples completions token by token.
#pragma once

#include "model/causal_lm/causal_lm.hpp"
#include "model/causal_lm/forward_wrapper.hpp"

namespace vramfit::model {

/// Prompts, [G, P] int64 each.
struct Prompts {
    const Tensor& ids;
    const Tensor& mask;
    bool differ = false;                     ///< in length: the shorter ones are padded on the left
    Missing missing = {};                    ///< where attention packs the other tokens
    std::optional<Size> ends = {};           ///< tokens that end a row; absent: end_tokens
    bool has_begin = false;                  ///< the model's generation_config has a token that begins a row
    const ForwardWrapper* around = nullptr;  ///< hooks of the network itself; null: none
    Tensor* stop_words = nullptr;            ///< StopWords.is_done; null: nothing is asked but ends and length
    bool has_ends = true;                    ///< false: rows go on to the limit
    bool has_pad = true;                     ///< a token of padding of its own
    std::vector<Tensor>* scores = nullptr;   ///< output_scores: what each token is drawn from; null: it is not kept
};

/// GenerationMixin.generate with return_dict_in_generate: its cache is there as long as what it returns.
struct Generated {
    Tensor ids;  ///< [G, P + tokens]
    KvCachePointer cache;
};
/// `caches`: whether keys and values are kept; without them each token runs all tokens before it (use_cache=False).
Generated generate_with_cache(const Run& run, const Network& network, const Prompts& prompts, std::int64_t tokens,
                              bool caches = true);
/// A cache's tensors go as a list lets go of them, from behind.
void let_go(const KvCachePointer& cache);

/// GenerationMixin.generate: [G, P + tokens].
Tensor generate(const Run& run, const Network& network, const Prompts& prompts, std::int64_t tokens);

/// eos_token_ids: those of the model's config, and the tokenizer's.
Size end_tokens(const Run& run);

/// Whether the model's own generation_config has a token that begins a row; the tracer's tokenizer has none.
bool has_begin(const Run& run);

/// torch.isin(ids, ends): [..] bool, for few ends.
Tensor is_in(const Tensor& ids, const Tensor& ends);

/// t.any(dim=1) and the like.
Tensor any_of(const Tensor& t, std::uint32_t dims);

}  // namespace vramfit::model
