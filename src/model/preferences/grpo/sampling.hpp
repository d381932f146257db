// One token of each row: processors of logits, and the draw.
#pragma once

#include <vector>

#include "model/network/run.hpp"

namespace vramfit::model {

/// ms-swift's StopWordsCriteria looks at so many tokens at most.
inline constexpr std::int64_t kTokensOfStopWords = 20;
struct StopWords {
    Tensor* is_done = nullptr;  ///< its own tensor -- [G] bool, from the first token on; null: there is none
    Size prompt = 0;            ///< tokens before the first one
};

/// What GenerationMixin._sample holds from one token to the next, by its names.
struct Sampling {
    Tensor input_ids, next_token_logits, next_token_scores, probs, next_tokens, unfinished_sequences;
    Tensor this_peer_finished;  ///< of releases that hold it
    StopWords stop_words = {};
    std::vector<Tensor>* kept_scores = nullptr;  ///< output_scores
};

/// The rest of _sample's loop behind the forward pass: logits -- [G, 1, V]. Undefined ends: no token ends a row.
void sample_token(const Run& run, const Tensor& logits, const Tensor& end_ids, Sampling& s);

}  // namespace vramfit::model
