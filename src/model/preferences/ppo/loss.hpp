// A batch of PPO's epochs: its loss, and the statistics behind the update.
#pragma once

#include <functional>

#include "model/preferences/ppo/wrapper.hpp"

namespace vramfit::model {

/// Variables of train() that a batch gives values to, by their names.
struct PpoBatch {
    Tensor mb_advantage, mb_responses, mb_query_responses, mb_logprobs, mb_return, mb_values;
    Output output;
    Tensor vpred_temp, logits, new_logprobs, vpred, vpredclipped, vf_losses1, vf_losses2, vf_loss_max, vf_loss,
        vf_clipfrac, logprobs_diff, ratio, pg_losses, pg_losses2, pg_loss_max, pg_loss, loss;
    Tensor pg_clipfrac, prob_dist, entropy, approxkl;
};

/// From the picking of the rows to the loss.
void train_batch(const Run& run, const PpoNetworks& networks, const PpoRollout& r, const Place& place, PpoBatch& b);

/// The statistics that follow the optimizer's step.
void measure_batch(const Run& run, const PpoRollout& r, PpoBatch& b);

/// What is deleted behind a mini batch.
void let_go(PpoBatch& b);

}  // namespace vramfit::model
