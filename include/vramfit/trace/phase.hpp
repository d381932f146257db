// The phases of a run; a window of the program is one phase.
#pragma once

#include <cstdint>
#include <string>

namespace vramfit {

enum class PhaseKind : std::uint8_t {
    start,
    load,
    prepare,
    adapters,
    trainer,
    batch,  ///< a batch that is moved once, before the steps
    inputs,
    embedding,
    forward_layer,
    head,
    backward_loss,
    backward_layer,
    backward_embedding,
    clip,
    optimizer,
    zero_grad,
    train_end,
    load_reference,        ///< preference training: the model that rewards are measured against
    precompute_reference,  ///< it runs over the data before training
    reference_forward,
    kl_forward,  ///< KTO: on completions of other rows
    loss,        ///< between the forward pass and the backward pass
    generation,  ///< GRPO, RLOO: completions are sampled
    reward,
    load_reward,   ///< GRPO, RLOO: a reward model comes onto the card
    load_teacher,  ///< GKD
    teacher_forward,
    log_probabilities,  ///< of the policy that has generated, before the loss
    load_value,         ///< PPO: the value model comes onto the card
    value_forward,
    backward_value,
    metrics,  ///< PPO: statistics of a batch, behind its update
};

/// A phase with its place in the run. `step`, `micro`, `layer` and `evaluation` are -1 where they do not apply;
/// `micro` is -1 without gradient accumulation, `evaluation` in training. A batch of an evaluation belongs to the step
/// before it, to none before the first.
struct Phase {
    PhaseKind kind = PhaseKind::start;
    std::int32_t step = -1;
    std::int32_t micro = -1;
    std::int32_t layer = -1;
    std::int32_t evaluation = -1;  ///< the batch of the evaluation

    friend bool operator==(const Phase&, const Phase&) = default;
};

/// "load", "step0.forward.3", "step1.micro0.backward.loss", "step1.evaluation0.head": the names of timelines.
std::string name_of(const Phase& phase);

}  // namespace vramfit
