// What Unsloth decides by the memory that is free, and the run as a card of some size has it.
#pragma once

#include <optional>

#include "vramfit/alloc/replay.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// A run of Unsloth where tensors have so many bytes.
struct UnslothRun {
    UnslothOnCard choices;
    std::optional<Program> program;  ///< where it differs from that of a card with plenty
    Timeline timeline;               ///< of that program there
};

/// Tokens of a batch of full rows.
inline std::int64_t tokens_of_batch(const TrainPlan& plan) {
    return plan.training.per_device_train_batch_size * plan.batch.sequence_length;
}

/// Whether the plan's loop asks how much memory is free, and the card says it.
bool asks_card(const TrainPlan& plan, const Device& device);

/// What it decides where tensors have `usable` bytes, given a run that is the same up to the first decision that
/// another card would change.
UnslothOnCard decide_on_card(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device,
                             const Program& program, const Timeline& timeline, Bytes usable);

/// The run where tensors have `options.capacity`: recorded anew for each decision that is another than on a card with
/// plenty. `program` is that card's, `timeline` its replay with `options`.
UnslothRun run_on_card(const Program& program, Timeline timeline, const ModelSpec& model, const TrainPlan& plan,
                       const Stack& stack, const Device& device, const ReplayOptions& options);

/// The same run, which has a program of its own then. Begins with a guess: that of a run much like it is recorded
/// once.
UnslothRun run_on_card(const UnslothOnCard& guess, const ModelSpec& model, const TrainPlan& plan, const Stack& stack,
                       const Device& device, const ReplayOptions& options);

/// The plan with these decisions.
TrainPlan with_choices(const TrainPlan& plan, const UnslothOnCard& choices);

/// What needs the most, and the least, of both.
UnslothOnCard hungrier(const UnslothOnCard& a, const UnslothOnCard& b);
UnslothOnCard leaner(const UnslothOnCard& a, const UnslothOnCard& b);

}  // namespace vramfit
