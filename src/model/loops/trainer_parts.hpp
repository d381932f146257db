// What the loops of all versions of transformers.Trainer have in common.
#pragma once

#include <memory>

#include "model/causal_lm/causal_lm.hpp"
#include "model/parallel/ddp/ddp.hpp"
#include "model/parallel/fsdp1/fsdp1.hpp"
#include "model/parallel/fsdp2/fsdp2.hpp"
#include "model/parallel/zero/zero.hpp"
#include "model/preferences/grpo/rollout.hpp"
#include "model/preferences/ms_swift/grpo_rollout.hpp"
#include "model/preferences/reference.hpp"
#include "model/step/grad_scaler.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::model {

/// Attributes of the Trainer object: they live longer than the loop.
struct Trainer {
    const Run& run;
    Network& network;
    Optimizer optimizer;
    GradScaler scaler;
    Tensor total_loss;             ///< _tr_loss (4.40: tr_loss, of the loop)
    std::unique_ptr<Ddp> ddp;      ///< torch's DistributedDataParallel, or nullptr
    std::unique_ptr<Zero> zero;    ///< DeepSpeed, or nullptr
    std::unique_ptr<Fsdp1> fsdp1;  ///< torch's FullyShardedDataParallel, or nullptr
    std::unique_ptr<Fsdp2> fsdp2;  ///< torch's fully_shard, or nullptr

    /// AcceleratedOptimizer scales gradients back and looks for infinities.
    bool unscales = false;

    Reference reference = {};         ///< of preference training
    Rollout rollout = {};             ///< GRPO, RLOO: _buffered_inputs
    SwiftRollout swift_rollout = {};  ///< of ms-swift's GRPO

    engine::Session& session() const { return run.session; }
    const TrainingPlan& args() const { return run.plan.training; }
    /// Whether gradients are complete with this batch (accelerate: not in no_sync).
    bool is_last(const Place& place) const {
        return place.micro < 0 || place.micro + 1 == args().gradient_accumulation_steps;
    }
};

/// Trainer.training_step behind `del inputs`, 4.44 to 5.17: torch_empty_cache_steps, counted in updates from 0.
void empty_cache_by_steps(const Trainer& trainer, const Place& place);

/// A batch of the loop's collator on the device.
Batch next_batch(const Run& run);

/// _get_num_items_in_batch: sum(labels[..., 1:].ne(-100).sum() for each batch), which begins with 0 + the first; in
/// older releases of all labels.
Tensor count_items(const Run& run, const std::vector<Batch>& batches);

/// model(**inputs), through what the processes share the network by.
Output wrapped_forward(const Trainer& trainer, const Batch& batch, const Tensor& items, const Place& place);

/// accelerator.backward(loss): opens the window of the backward pass.
void accelerator_backward(Trainer& trainer, const Tensor& loss, const Place& place);

/// A step of ms-swift's GRPO, whose loss Trainer divides by the steps of accumulation.
Tensor swift_group_step(Trainer& trainer, const Place& place);

/// logging_nan_inf_filter of a finite loss.
void look_at_loss(const Tensor& loss);

/// accelerator.clip_grad_norm_ over all parameters.
Tensor clip_gradients(Trainer& trainer);

/// The end of DeepSpeedEngineWrapper.backward at a boundary: gradients are clipped and weights updated in there.
void zero_step(Trainer& trainer, const Place& place);

/// What is left of an update behind it.
void after_zero_step(Trainer& trainer, std::int32_t step);

/// AcceleratedOptimizer.step, scheduler, model.zero_grad(), with their windows.
void optimizer_step(Trainer& trainer, std::int32_t step);

/// AcceleratedOptimizer.__init__: states that exist go to the device.
void place_states(engine::Session& session, Optimizer& optimizer);

/// transformers 4.40 trainer.py _inner_training_loop, from the first batch to its return.
void training_loop_4_40(Trainer& trainer);

/// 4.40 to 5.17 _inner_training_loop: accelerator.free_memory(), which collects garbage and empties the cache
/// (accelerate utils/memory.py), and get_train_dataloader. What two modules shared stays in the hooks' tied_params_map
/// (hooks.py).
void begin_training(const Run& run, Network& network, const Reference& reference);

}  // namespace vramfit::model
