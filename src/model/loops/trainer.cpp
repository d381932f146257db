// transformers 5.17 trainer.py: _prepare_for_training, _run_epoch, training_step, compute_loss.
#include <optional>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/classification.hpp"
#include "model/layers/family.hpp"
#include "model/loading/load.hpp"
#include "model/loading/prepare.hpp"
#include "model/loops/batch.hpp"
#include "model/loops/evaluation.hpp"
#include "model/loops/loops.hpp"
#include "model/loops/repeated.hpp"
#include "model/loops/sft_loss.hpp"
#include "model/loops/trainer_parts.hpp"
#include "model/parallel/collectives.hpp"
#include "model/parallel/context/context_parallel.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "model/preferences/distillation/loss.hpp"
#include "model/preferences/distillation/rows.hpp"
#include "model/preferences/grpo/loss.hpp"
#include "model/preferences/grpo/sequence_loss.hpp"
#include "model/preferences/grpo/weight_sync.hpp"
#include "model/preferences/llama_factory/reward.hpp"
#include "model/preferences/loss.hpp"
#include "model/preferences/online/loss.hpp"
#include "model/preferences/precompute.hpp"
#include "model/preferences/process_reward/rows.hpp"
#include "model/preferences/rows.hpp"
#include "model/second/second_network.hpp"
#include "model/step/dtensor_gradients.hpp"
#include "model/step/step_in_backward.hpp"
#include "model/unsloth/loss.hpp"
#include "model/unsloth/rows.hpp"
#include "model/unsloth/setup.hpp"
#include "spec/network/document.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// accelerate's ParallelismConfig, which Trainer is given for sequences that are cut and shards that are copied.
bool has_parallelism_config(const DistributedPlan& processes) {
    const Fsdp2Plan* const fsdp = processes.as<Fsdp2Plan>();
    return fsdp && (fsdp->context.size > 1 || fsdp->replicas > 1);
}

/// What the processes share the network by, for a loss that calls the network itself.
ForwardWrapper wrapper_of(const Trainer& trainer, bool sync) {
    if (Ddp* ddp = trainer.ddp.get())
        return {false, [=] { ddp->before_forward(sync); }, [=](Tensor&, auto outputs) { ddp->after_forward(outputs); }};
    if (Fsdp1* fsdp = trainer.fsdp1.get())
        return {true, [=] { fsdp->before_forward(sync); }, [=](Tensor& scored, auto) { fsdp->after_forward(scored); }};
    if (Fsdp2* fsdp = trainer.fsdp2.get())
        return {true, [=] { fsdp->before_forward(sync); },
                [=](Tensor& scored, auto outputs) { fsdp->after_forward(scored, outputs); }};
    return {};
}

/// compute_loss: the model's loss, multiplied in place by the number of processes.
Tensor compute_loss(const Trainer& trainer, const Batch& batch, const Tensor& items, const Place& place) {
    if (trainer.run.plan.loop.kind == LoopKind::sft)
        return sft_loss(trainer.run, trainer.network, batch, items, place, wrapper_of(trainer, trainer.is_last(place)));
    if (trainer.run.unsloth) {
        if (trainer.ddp) trainer.ddp->before_forward(trainer.is_last(place));
        return unsloth_loss(trainer.run, trainer.network, batch, items, place);
    }
    const Output outputs = wrapped_forward(trainer, batch, items, place);
    if (rewards_steps(trainer.run.plan)) begin_loss(trainer.run, place);  // a trainer of trl's has the window
    Tensor loss = outputs.loss;
    if (trainer.run.stack.trainer_averages_over_devices()) mul_(loss, 1);
    return loss;
}

/// axolotl 0.19 core/trainers/dpo/trainer.py AxolotlDPOTrainer.training_step.
bool empties_cache(const TrainPlan& plan) { return plan.preference.maker == TrainerMaker::axolotl; }

/// What distillation generates, and the cache that it empties, make batches unlike each other.
bool distills(const TrainPlan& plan) { return plan.loop.kind == LoopKind::gkd; }

/// Whether batches may be written again without being run: of several processes not all are alike, of the labels that
/// LLaMA-Factory's KTO copies the categories would not be, and in the first one kernels of cut cross entropy are tried.
bool repeats_batches(const Run& run) {
    const bool factory_kto = by_llama_factory(run.plan) && run.plan.loop.kind == LoopKind::kto;
    return run.session.repeats && !run.plan.distributed && !run.unsloth && !empties_cache(run.plan) && !factory_kto &&
           !run.plan.training.cut_cross_entropy && !distills(run.plan) && !generates_pairs(run.plan.loop.kind);
}

/// training_step of a loss for which no items were counted.
Tensor preference_step(Trainer& trainer, const Batch& batch, const Place& place) {
    Tensor loss = preference_loss(trainer.run, trainer.network, trainer.reference, batch, place,
                                  wrapper_of(trainer, trainer.is_last(place)));
    empty_cache_by_steps(trainer, place);
    loss = div(loss, 1);  // self.current_gradient_accumulation_steps
    accelerator_backward(trainer, loss, place);
    Tensor out = detach(loss);
    if (empties_cache(trainer.run.plan)) trainer.session().recorder.empty_cache();
    return out;
}

/// GRPOTrainer.training_step, _prepare_inputs: rows are generated every few batches. GRPO's loss is scaled already,
/// RLOO's is not (loss_is_scaled_for_ga).
Tensor group_step(Trainer& trainer, const Place& place) {
    const Run& run = trainer.run;
    if (by_ms_swift(run.plan)) return swift_group_step(trainer, place);
    if (generates(run.plan, place))
        trainer.rollout = roll_out(run, trainer.network, trainer.reference, place, wrapper_of(trainer, true));
    const Rollout part = part_of(run, trainer.rollout, batch_number(run.plan, place));
    const bool leaves_one_out = run.plan.loop.kind == LoopKind::rloo;
    Tensor loss = (leaves_one_out ? rloo_loss : grpo_loss)(run, trainer.network, part, place,
                                                           wrapper_of(trainer, trainer.is_last(place)));
    empty_cache_by_steps(trainer, place);
    if (leaves_one_out) loss = div(loss, 1);  // self.current_gradient_accumulation_steps
    accelerator_backward(trainer, loss, place);
    return detach(loss);
}

/// GKDTrainer.training_step: num_items_in_batch is of the rows as the collator made them.
Tensor distillation_step(Trainer& trainer, Batch& batch, const Tensor& items, const Place& place) {
    generate_on_policy(trainer.run, trainer.network, place, batch);
    trainer.session().recorder.begin(phase_at(PhaseKind::inputs, place));
    const Tensor loss = distillation_loss(trainer.run, trainer.network, batch, items, place);
    empty_cache_by_steps(trainer, place);
    accelerator_backward(trainer, loss, place);
    return detach(loss);
}

/// OnlineDPOTrainer.training_step, which divides what it gives back, not the loss.
Tensor online_step(Trainer& trainer, const Place& place) {
    Tensor out;
    online_dpo_step(trainer.run, trainer.network, trainer.reference, place, [&](const Tensor& loss) {
        empty_cache_by_steps(trainer, place);
        accelerator_backward(trainer, loss, place);
        out = div(detach(loss), 1);
    });
    return out;
}

Tensor training_step(Trainer& trainer, Batch& batch, const Tensor& items, const Place& place) {
    if (trainer.run.plan.loop.kind == LoopKind::gkd) return distillation_step(trainer, batch, items, place);
    if (generates_pairs(trainer.run.plan.loop.kind)) return online_step(trainer, place);
    if (generates_rows(trainer.run.plan.loop.kind)) return group_step(trainer, place);
    if (is_preference(trainer.run.plan.loop.kind) && !rewards_steps(trainer.run.plan))
        return preference_step(trainer, batch, place);
    const CutBatch cut(trainer.run, batch);
    const Tensor loss = compute_loss(trainer, batch, items, place);
    empty_cache_by_steps(trainer, place);
    accelerator_backward(trainer, loss, place);
    // Up to 4.47: loss.detach() / self.args.gradient_accumulation_steps where nothing was counted.
    if (!items.defined() && has_its_own_loss(trainer.run)) return div(detach(loss), 1);
    return detach(loss);
}

/// tr_loss + tr_loss_step, in place since there is _run_epoch.
void add_loss(Trainer& trainer, Tensor& total, const Tensor& loss) {
    if (!trainer.run.unsloth) look_at_loss(loss);
    if (trainer.run.stack.trainer_has_epoch_function())
        add_(total, loss);
    else
        total = add(total, loss);
}

/// store_flos at the end of training.
void store_flos(const Run& run) {
    if (run.plan.distributed) sum_over_ranks(run.session, run.plan.distributed->world_size);
}

/// _run_epoch: what it holds from one update to the next are its local variables, dropped when it returns. Before it
/// came, they are those of _inner_training_loop and live while training ends.
void run_epoch(Trainer& trainer) {
    Session& session = trainer.session();
    const bool is_function = trainer.run.stack.trainer_has_epoch_function();
    Tensor total_loss = is_function ? trainer.total_loss : std::move(trainer.total_loss);
    const auto micros = static_cast<std::int32_t>(trainer.args().gradient_accumulation_steps);
    std::vector<Batch> batches;
    Tensor items, grad_norm, step_loss;
    const bool may_repeat = repeats_batches(trainer.run);
    RepeatedMicroBatch first(session, trainer.optimizer), later(session, trainer.optimizer);
    for (std::int32_t step = 0; step < trainer.run.plan.loop.steps; ++step) {
        session.recorder.program().collectives = {};
        if (trainer.args().torch_empty_cache_steps) {  // steps differ
            first.forget();
            later.forget();
        }
        session.recorder.begin({PhaseKind::inputs, step, micros > 1 ? 0 : -1});
        {
            std::vector<Batch> next;
            for (int i = 0; i < micros; ++i) next.push_back(next_batch(trainer.run));
            Tensor count = count_items(trainer.run, next);
            batches = std::move(next);
            items = std::move(count);
        }
        for (std::int32_t micro = 0; micro < micros; ++micro) {
            const Place place{step, micros > 1 ? micro : -1};
            Batch& batch = batches[static_cast<std::size_t>(micro)];
            RepeatedMicroBatch& repeated = micro == 0 ? first : later;
            // What is generated outlives the batch.
            const bool is_like_others = may_repeat && !generates(trainer.run.plan, place);
            if (is_like_others && step_loss.defined() && repeated.holds()) {
                repeated.write(place, step_loss, batch, items, trainer.is_last(place));
                continue;
            }
            if (is_like_others) repeated.begin(step_loss);
            if (micro > 0) session.recorder.begin({PhaseKind::inputs, step, micro});
            Tensor loss = training_step(trainer, batch, items, place);
            if (is_like_others) repeated.has_loss();
            step_loss = std::move(loss);
            add_loss(trainer, total_loss, step_loss);
            if (is_like_others) repeated.end(step_loss, batch, items);
        }
        if (is_function) grad_norm.reset();
        if (trainer.zero) {
            after_zero_step(trainer, step);
            continue;
        }
        session.recorder.mark(fmt::format("step{}.after_backward", step + 1));
        if (!trainer.optimizer.one_by_one) session.recorder.begin({PhaseKind::clip, step});
        grad_norm = clip_gradients(trainer);
        optimizer_step(trainer, step);
        evaluate_after(trainer, step);
    }
    session.recorder.begin({PhaseKind::train_end});
    if (!is_function) session.recorder.mark("allocated_end");
    if (!is_function) store_flos(trainer.run);
}

/// accelerator.prepare(model, optimizer) of one of several processes.
void prepare_processes(Trainer& trainer) {
    if (!trainer.run.plan.distributed) return;
    const DistributedPlan& distributed = *trainer.run.plan.distributed;
    if (distributed.as<DdpPlan>()) trainer.ddp = std::make_unique<Ddp>(trainer.run, trainer.network);
    if (distributed.as<ZeroPlan>()) trainer.zero = make_zero(trainer.run, trainer.network);
    if (distributed.as<Fsdp1Plan>()) trainer.fsdp1 = std::make_unique<Fsdp1>(trainer.run, trainer.network);
    if (distributed.as<Fsdp2Plan>())
        trainer.fsdp2 = std::make_unique<Fsdp2>(trainer.run, trainer.network, trainer.optimizer);
}

GradScaler scaler_of(const TrainPlan& plan) {
    if (!plan.distributed) return GradScaler();
    const bool on_host = plan.distributed->shards_on_host();
    if (plan.distributed->as<Fsdp1Plan>()) return GradScaler(ScaledGradients::fsdp1_parts, on_host);
    if (plan.distributed->as<Fsdp2Plan>()) return GradScaler(ScaledGradients::dtensors, on_host);
    return GradScaler();
}

}  // namespace

namespace {

/// trainer.py _loss_shifts_labels.
bool shifts_labels(const Run& run) {
    if (classifies_rows(run)) return false;
    return run.spec.recording ? run.spec.recording->loss_shifts_labels
                              : !family_of(run.spec.model_type).counts_all_labels;
}

}  // namespace

Batch next_batch(const Run& run) {
    if (run.unsloth) return fetch_packed(run);
    if (!is_preference(run.plan.loop.kind)) return fetch_batch(run);
    if (generates_rows(run.plan.loop.kind)) return {};  // text, which is host memory
    if (distills(run.plan)) return fetch_distillation(run);
    return fetch_preferences(run, run.plan.preference.precompute_ref_log_probs);
}

Tensor count_items(const Run& run, const std::vector<Batch>& batches) {
    if (is_preference(run.plan.loop.kind) && !has_labels(run.plan)) return {};
    if (run.unsloth) return count_packed(run, batches);
    if (run.spec.recording && !run.spec.recording->accepts_loss_kwargs) return {};
    if (has_its_own_loss(run) && run.stack.trainer_counts_for_models_that_take_it()) return {};
    const bool shifted = run.stack.trainer_counts_shifted_labels() && shifts_labels(run);
    Tensor total;
    std::vector<Tensor> counts;  // up to 4.57 a list is summed
    for (const Batch& batch : batches) {
        const Tensor labels = shifted ? slice(batch.labels, -1, 1, batch.labels.size(-1)) : batch.labels;
        const Tensor count = sum_all(compare(Op::ne, labels));
        counts.push_back(count);
        if (run.stack.trainer_counts_in_a_list() && counts.size() < batches.size()) continue;
        for (const Tensor& each : counts) total = total.defined() ? add(total, each) : add(each, 0);
        counts.clear();
    }
    // average_tokens_across_devices: accelerator.gather(num_items_in_batch).sum().
    if (run.plan.distributed && run.stack.trainer_averages_over_devices()) {
        total = sum_all(gather_scalar(total, run.plan.distributed->world_size));
        // parallelism_config.non_data_parallel_size.
        if (!run.stack.trainer_always_divides_counts() &&
            (is_tensor_parallel(run.plan) || has_parallelism_config(*run.plan.distributed)))
            total = pointwise_result(total, total.dtype(), Op::floor_divide);
    }
    if (run.stack.trainer_always_divides_counts())
        total = run.stack.trainer_divides_counts_exactly() ? pointwise_result(total, DType::float32, Op::div)
                                                           : pointwise_result(total, total.dtype(), Op::floor_divide);
    if (!run.stack.trainer_counts_on_host()) return total;
    run.session.streams.host_waits(0);  // Tensor.item
    return host_tensor(run.session, {}, DType::int64);
}

void run_trainer(const Run& run, Network& network, Reference loaded) {
    Session& session = run.session;
    session.recorder.begin({PhaseKind::trainer});
    load_evaluated_networks(run);
    const bool by_deepspeed = zero_of(run.plan) != nullptr;
    // trl 1.16 trainer/utils.py global_then_local_main_first: behind the casts of adapters over packed weights.
    const bool prepares_rows = waits_for_rows(run.plan);
    const auto wait_for_rows = [&] {
        for (int i = 0; i < 2 && run.plan.distributed && prepares_rows; ++i) barrier(session, network.held_by_group);
    };
    const bool is_packed = run.plan.load.quantization.has_value();
    if (!is_packed) wait_for_rows();
    if (waits_on_host(run) && !by_deepspeed && !is_sharded(run.plan))
        move_to_device(run, network);  // _move_model_to_device
    if (run.plan.loop.kind == LoopKind::sft && run.stack.sft_scores_in_chunks()) prepare_adapted_by_trl(run, network);
    if (run.unsloth) prepare_unsloth_trainer(run, network);
    Reference reference = std::move(loaded), unused;
    if (run.plan.preference.reference_source == ReferenceSource::unused) std::swap(reference, unused);
    if (is_preference(run.plan.loop.kind)) {
        const bool factory = by_llama_factory(run.plan), own = by_own_trainer(run.plan);
        if (network.value_head.has_bias) move_value_head(run, network);
        // Its gradient_checkpointing_enable leaves the embedding as it is; peft's hook is not for packed weights.
        if (factory && run.plan.load.quantization) network.embed.output_requires_grad = false;
        if (!prepares_by_itself(run.plan.loop.kind) && !own)
            prepare_adapted_by_trl(run, network);
        else if (run.plan.training.gradient_checkpointing && !(run.plan.prepare_kbit && run.plan.trl_makes_adapters) &&
                 !(factory && run.plan.load.quantization))
            require_input_grads(network);
        if (is_packed) wait_for_rows();
        const bool has_own = by_ms_swift(run.plan) || reference.network;  // or was given one
        if (asks_reference(run.plan) && !has_own) reference = make_reference(run, network);
        open_weight_sync(run, network);
        place_evaluated_networks(run);
        if (run.plan.preference.precompute_ref_log_probs && !precomputes_in_training(run.plan))
            precompute_references(run, network);
    }
    unused.network.reset();
    begin_training(run, network, reference);
    TrainingPlan outside = run.plan.training;
    std::optional<StepInBackward> inside;
    if (outside.optimizer_in_backward) {
        inside.emplace(run, network);
        outside.optim = "none";
    }
    Trainer trainer{run, network, {}, scaler_of(run.plan), {}, {}, {}, {}, {}, false};
    trainer.reference = std::move(reference);
    trainer.swift_rollout.reward_weights = weights_of_rewards(run);
    trainer.optimizer.type = &optimizer_of("none");  // DeepSpeed holds its own
    // trainer_optimizer.py _get_adamw_torch: no fused or foreach kernels over cut and whole parameters.
    const bool is_mixed = trains_mixed(run, network);
    if (is_mixed) outside.optim = "adamw_torch";
    const bool is_delayed = run.plan.distributed && run.plan.distributed->as<Fsdp1Plan>();  // delay_optimizer_creation
    if (!by_deepspeed && !is_delayed) trainer.optimizer = make_optimizer(session, outside, decay_groups(run, network));
    prepare_processes(trainer);
    if (is_delayed)
        trainer.optimizer = make_optimizer(
            session, outside,
            trainer.fsdp1->keeps_parameters() ? decay_groups(run, network) : trainer.fsdp1->flat_groups());
    trainer.optimizer.one_by_one = is_mixed;
    // create_optimizer: GlobalOptimManager's override for each nn.Embedding. A flat parameter is none of theirs.
    trainer.optimizer.embeddings_in_32bit =
        trainer.optimizer.type->is_8bit && run.stack.trainer_keeps_embeddings_in_32bit();
    const bool is_prepared = !is_delayed || run.stack.trainer_prepares_late_optimizers();
    trainer.unscales = run.plan.training.fp16 && is_prepared;
    if (is_prepared) place_states(session, trainer.optimizer);
    if (run.unsloth) session.recorder.empty_cache();  // models/llama.py, where Trainer says "Running training"
    session.recorder.mark("resident");
    trainer.total_loss = empty(session, {}, DType::float32, Op::to_copy);
    session.streams.host_waits(0);  // for that copy
    evaluate_on_start(trainer);
    if (run.stack.trainer_counts_items()) {
        run_epoch(trainer);
        if (run.stack.trainer_has_epoch_function()) session.recorder.mark("allocated_end");
        if (run.stack.trainer_has_epoch_function()) store_flos(run);
    } else {
        training_loop_4_40(trainer);
    }
    if (run.unsloth) end_training(run);
    session.recorder.stop();
}

}  // namespace vramfit::model
