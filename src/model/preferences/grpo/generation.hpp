// transformers' generate, which samples completions token by token.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// Prompts, [G, P] int64 each.
struct Prompts {
    const Tensor& ids;
    const Tensor& mask;
    bool differ = false;   ///< in length: the shorter ones are padded on the left
    Missing missing = {};  ///< where attention packs the other tokens
};

/// GenerationMixin.generate: [G, P + tokens].
Tensor generate(const Run& run, const Network& network, const Prompts& prompts, std::int64_t tokens);

/// eos_token_ids: those of the model's config, and the tokenizer's.
Size end_tokens(const Run& run);

/// torch.isin(ids, ends): [..] bool, for few ends.
Tensor is_in(const Tensor& ids, const Tensor& ends);

/// t.any(dim=1) and the like.
Tensor any_of(const Tensor& t, std::uint32_t dims);

}  // namespace vramfit::model
