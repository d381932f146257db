// How networks are called on whole rows: trl's forward() and get_reward().
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// Rows of prompt and response, where tokens of padding are masked and made the token 0.
Batch given_rows(const Run& run, const Tensor& query_responses);

/// An output's tensors go as Python lets go of them.
void let_go(Output& output);

/// What get_reward gives.
struct RowRewards {
    Tensor logits;            ///< [B, S, 1]
    Tensor final_rewards;     ///< [B]
    Tensor sequence_lengths;  ///< [B] int64
};
RowRewards rewards_of_rows(const Run& run, const Network& network, const Tensor& query_responses, const Size& context);

}  // namespace vramfit::model
