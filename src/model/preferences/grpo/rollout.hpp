// What GRPO's and RLOO's steps are trained on: sampled completions with their advantages.
#pragma once

#include "model/causal_lm/causal_lm.hpp"
#include "model/causal_lm/forward_wrapper.hpp"
#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// The batch that _prepare_inputs gives, or all rows that were generated together.
struct Rollout {
    Tensor prompt_ids, prompt_mask;          ///< [G, P] int64
    Tensor completion_ids, completion_mask;  ///< [G, N] int64
    Tensor advantages;                       ///< [G]
    Tensor num_items;                        ///< 0-dim; of GRPO
    Tensor old_log_probs;                    ///< [G, N], or undefined: those of the loss itself; RLOO: [G]
    Tensor reference_log_probs;              ///< [G, N], or undefined without beta; of GRPO
    Tensor sampling_ratio;                   ///< [G, N] or [G, 1], of GRPO with vLLM where it corrects for sampling
    Tensor sampling_log_probs;               ///< [G, N], of GRPO with vLLM
};

/// The batches of the run up to this one: GRPOTrainer._step.
std::int64_t batch_number(const TrainPlan& plan, const Place& place);
/// Whether the trainer generates rows before it trains on this batch.
bool generates(const TrainPlan& plan, const Place& place);

/// Batches for which rows are generated at once.
std::int64_t steps_per_generation(const TrainPlan& plan);

/// _generate_and_score_completions, shuffled. The network is called without its wrapper, unless that shards it.
Rollout roll_out(const Run& run, Network& network, const Reference& reference, const Place& place,
                 const ForwardWrapper& wrapper);

/// The part of a batch by its number.
Rollout part_of(const Run& run, const Rollout& all, std::int64_t number);

}  // namespace vramfit::model
