// The responses of a rollout, with what their tokens were drawn from.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// batch_generation.
struct PpoResponses {
    Tensor query_responses;  ///< [B, P + N]
    Tensor logits;           ///< [B, N, V] float32
};
PpoResponses generate_responses(const Run& run, Network& policy, const Tensor& queries);

/// local_rollout_forward_batch_size, or all rows where they are fewer.
std::int64_t rows_of_piece(const Run& run);

/// So many pieces, of which the last one may have fewer rows.
template <class Act>
void with_each_piece(const Run& run, const Size& rows, const Act& act) {
    const std::int64_t all = run.session.decide("rows of a rollout", rows), piece = rows_of_piece(run);
    for (std::int64_t first = 0; first < all; first += piece) act(first, std::min(first + piece, all));
}

}  // namespace vramfit::model
