// A rollout of PPO: responses with what the networks say of them.
#pragma once

#include <vector>

#include "model/preferences/reference.hpp"
#include "model/second/second_network.hpp"

namespace vramfit::model {

/// The networks of the trainer, with how they are run.
struct PpoNetworks {
    Network& policy;
    const EvaluatedNetwork& value;
    const EvaluatedNetwork& reward;
    const Reference& reference;
};

/// Variables of train(), by their names: what it does not delete lives until it is assigned again.
struct PpoRollout {
    Tensor data_mask, queries;  ///< of the batch: attention_mask, which nothing reads, and input_ids
    Tensor query_responses, logitss, query, query_response, response, postprocessed_response,
        postprocessed_query_response, sequence_length, underscore;
    Tensor responses, postprocessed_responses, logprobs, ref_logprobs, sequence_lengths, scores, values;
    Tensor contain_eos_token, response_idxs, padding_mask, sequence_lengths_p1, padding_mask_p1;
    Tensor logr, kl, non_score_reward, rewards, actual_start, actual_end, nextvalues, delta, lastgaelam, advantages,
        returns;
    std::vector<Tensor> advantages_reversed;
};

/// Rows of an update: local_batch_size.
Size rows_of_update(const Run& run);

/// From the batch to the cached values: queries, generation, and the networks' forwards, piece by piece.
void roll_out(const Run& run, const PpoNetworks& networks, const Place& place, PpoRollout& r);

/// Rewards of tokens, advantages and returns.
void compute_advantages(const Run& run, PpoRollout& r);

/// What the end of an update deletes.
void let_go(PpoRollout& r);

}  // namespace vramfit::model
