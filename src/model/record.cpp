// The order of a run: load, prepare, adapters, loop.
#include "model/record.hpp"
#include "model/causal_lm/classification.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "model/adapters/adapters.hpp"
#include "model/layers/liger.hpp"
#include "model/loading/load.hpp"
#include "model/loading/prepare.hpp"
#include "model/loading/resize.hpp"
#include "model/loops/loops.hpp"
#include "model/loops/sft_2024.hpp"
#include "model/network/in_module.hpp"
#include "model/network/run.hpp"
#include "model/parallel/context/context_parallel.hpp"
#include "model/parallel/pipeline/pipeline.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "model/preferences/grpo/refusals.hpp"
#include "model/preferences/llama_factory/reward.hpp"
#include "model/preferences/reference.hpp"
#include "model/preferences/rows.hpp"
#include "model/recorded/model.hpp"
#include "model/second/second_network.hpp"
#include "model/supported.hpp"
#include "model/unsloth/setup.hpp"
#include "model/unsloth/trained_ends.hpp"
#include "spec/network/model.hpp"
#include "spec/network/rewritten/context_parallel.hpp"
#include "spec/network/rewritten/flash_attention.hpp"
#include "spec/network/rewritten/generation.hpp"
#include "spec/network/rewritten/liger.hpp"
#include "spec/network/rewritten/logits_alone.hpp"
#include "spec/network/rewritten/tensor_parallel.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/checkpointing.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

void count_parameters(Network& network, Recorder& recorder) {
    ParameterCounts& counts = recorder.parameters;
    for (const NamedParameter& p : named_parameters(network)) {
        const Size elements = p.tensor->numel() * p.pieces;
        counts.total = counts.total + elements;
        if (p.tensor->requires_grad()) counts.trainable = counts.trainable + elements;
    }
    for (const Linear* l : linears(network))
        if (is_packed(*l)) counts.total = counts.total + l->in * l->out;
    recorder.program().total_parameters = counts.total.value();
    recorder.program().trainable_parameters = counts.trainable.value();
}

/// torch 2.3 to 2.11 cuda/__init__.py _check_bf16_tensor_supported.
void ask_for_bf16(const Run& run, bool load_first) {
    if (!asks_for_bf16(run) || asks_for_bf16_late(run) != load_first) return;
    const Tensor one = empty(run.session, {1}, DType::bfloat16, Op::to_copy);
}

/// What is done to the loaded network by the plan; false: nothing.
bool prepare(const Run& run, Network& network) {
    const TrainPlan& plan = run.plan;
    if (!plan.prepare_kbit && !plan.load.upcast) return false;
    run.session.recorder.begin({PhaseKind::prepare});
    if (plan.load.upcast)
        prepare_upcast(run, network, *plan.load.upcast);
    else if (prepares_by_trl(plan.loop.kind))
        prepare_for_kbit_training_by_trl(run, network, *plan.prepare_kbit);
    else
        prepare_for_kbit_training(run, network, *plan.prepare_kbit);
    return true;
}

/// Preparation and adapters, before a loop is entered.
void adapt(const Run& run, Network& network, Reference& reference) {
    Session& session = run.session;
    const Scoped<bool> on_host(session.on_host, waits_on_host(run));
    const TrainPlan& plan = run.plan;
    prepare(run, network);
    if (plan.load.gradient_checkpointing && network.checkpointing == Checkpointing::off)
        enable_checkpointing(run, network, plan.training.use_reentrant);
    session.recorder.mark("after_load");
    if (plan.peft) {
        session.recorder.begin({PhaseKind::adapters});
        if (run.unsloth) offload_trained_ends(run, network);
        add_adapters(run, network);
        if (run.unsloth) place_trained_ends(run, network);
        cast_adapted(run, network);
    } else if (plan.load.cast_after_adapter) {
        cast_adapted(run, network);  // the job asks for a cast at this place, with adapters or without
    }
    session.recorder.mark("after_adapter");
    if (run.plan.preference.reference_source != ReferenceSource::trainer) reference = load_behind_policy(run);
}

/// trl's trainers, given a peft_config: adapters are made while the trainer is. Of SFTTrainer only ZeRO-3 sees it.
/// `asked` is what the job prepares before.
void adapt_in_trainer(const Run& run, Network& network, const std::optional<PreparePlan>& asked, Reference& reference) {
    Recorder& recorder = run.session.recorder;
    const Scoped<bool> on_host(run.session.on_host, waits_on_host(run));
    const bool by_trainer = prepares_by_itself(run.plan.loop.kind);
    if (!by_trainer) {
        prepare(run, network);
    } else if (asked) {
        recorder.begin({PhaseKind::prepare});
        prepare_for_kbit_training(run, network, *asked);
    }
    if (has_value_model(run.plan.loop.kind) && run.plan.load.gradient_checkpointing)
        enable_checkpointing(run, network, run.plan.training.use_reentrant);
    recorder.mark("after_load");
    if (run.plan.preference.reference_source != ReferenceSource::trainer) reference = load_behind_policy(run);
    recorder.begin({PhaseKind::trainer});
    if (network.partitions) network.uncollected.clear();  // the trainer makes enough objects for Python to collect it
    load_evaluated_networks(run);
    if (by_trainer && prepare(run, network)) recorder.begin({PhaseKind::trainer});
    if (run.plan.peft) {
        recorder.begin({PhaseKind::adapters});
        add_adapters(run, network);
        recorder.begin({PhaseKind::trainer});
        if (by_trainer && run.plan.trl_casting_to_bf16)
            (prepares_by_trl(run.plan.loop.kind) ? cast_float32_by_trl : cast_to_bf16_by_trl)(run, network);
    }
    recorder.mark("after_adapter");
}

/// The network's recording with the attention and the kernels that the plan asks for.
std::shared_ptr<const network::Document> recording_of(const Run& run, const ModelSpec& spec) {
    std::shared_ptr<const network::Document> recording = spec.recording;
    if (!recording) return recording;
    const auto replace = [&](network::Document by) {
        recording = std::make_shared<const network::Document>(std::move(by));
    };
    if (is_tensor_parallel(run.plan)) replace(network::piece_of(*recording, run.plan.distributed->world_size));
    if (ring_of(run.plan)) replace(network::with_cut_sequences(*recording));
    if (run.plan.load.attention == AttentionImplementation::flash_attention_2)
        replace(network::with_flash_attention(*recording));
    if (uses_liger(run)) replace(network::with_liger(*recording));
    if (is_preference(run.plan.loop.kind) && spec.num_labels == 0) replace(network::with_logits_alone(*recording));
    if (generates_by_transformers(run.plan)) replace(network::with_generation(*recording));
    return recording;
}

void run_all(const Run& stored) {
    refuse_unsupported(stored);
    Session& session = stored.session;
    const bool prefers = is_preference(stored.plan.loop.kind);
    const bool classifies = classifies_rows(stored);
    const TrainPlan plan = prefers      ? plan_of_preferences(stored.plan)
                           : classifies ? plan_of_classifier(stored.plan)
                                        : stored.plan;
    ModelSpec spec = prefers      ? spec_of_preferences(stored.spec, stored.plan)
                     : classifies ? spec_of_classifier(stored.spec, plan.load.num_labels, plan.load.labels_tokens)
                                  : stored.spec;
    RunSizes sizes = stored.sizes;
    if (has_pairs(plan.loop.kind) || generates_pairs(plan.loop.kind)) sizes.batch = 2 * sizes.batch;
    ask_for_bf16(stored, false);
    std::optional<Unsloth> unsloth;
    if (stored.plan.loop.kind == LoopKind::unsloth) stored.unsloth = &unsloth.emplace();
    if (unsloth) import_unsloth(stored);
    Reference reference =
        prefers ? load_before_policy({session, spec, stored.plan, stored.stack, stored.sizes}) : Reference{};
    session.recorder.begin({PhaseKind::load});
    if (unsloth) begin_load(stored);
    const Scoped<bool> again(session.loads_again, reference.network != nullptr);
    Network network = load({session, spec, stored.plan, stored.stack, stored.sizes, nullptr, nullptr, stored.unsloth});
    if (unsloth) end_load(stored, network);
    place_parameters(network);
    const std::shared_ptr<const network::Document> recording = recording_of(stored, spec);
    std::optional<RecordedModel> recorded;
    if (recording) recorded.emplace(*recording).bind(network);
    EvaluatedNetworks evaluated_networks;
    const bool alone = plan.reward_models.empty() && !plan.teacher;
    const Run run{session,
                  spec,
                  plan,
                  stored.stack,
                  sizes,
                  nullptr,
                  recorded ? &*recorded : nullptr,
                  stored.unsloth,
                  nullptr,
                  alone ? nullptr : &evaluated_networks};
    if (plan.load.resize_token_embeddings) {
        spec.vocab_size = *plan.load.resize_token_embeddings;
        resize_token_embeddings(run, network);
    }
    // Also what a class freezes: transformers 5 makes every parameter anew (core_model_loading.py
    // set_param_for_module).
    for (const NamedParameter& p : named_parameters(network)) p.tensor->set_requires_grad(true);
    const bool by_trl = plan.loop.kind == LoopKind::sft && run.stack.sft_prepares_model();
    if (by_trl)
        adapt_in_sft_trainer(run, network);
    else if ((prefers && plan.trl_makes_adapters) || (plan.sft_makes_adapters && network.partitions))
        adapt_in_trainer(run, network, stored.plan.prepare_kbit, reference);
    else
        adapt(run, network, reference);
    if (unsloth) end_adapters(run, network);
    ask_for_bf16(run, true);
    // trl switches the argument off once it has prepared a quantized model.
    const bool is_switched_off = by_trl || (prepares_by_trl(plan.loop.kind) && plan.trl_makes_adapters);
    // PPOTrainer never asks its policy for it.
    if (plan.training.gradient_checkpointing && !has_value_model(plan.loop.kind) &&
        !(is_switched_off && plan.load.quantization))
        enable_checkpointing(run, network, use_reentrant_of(plan, run.stack));
    if (plan.loop.input_require_grads) require_input_grads(network);
    if (by_llama_factory(plan) && plan.loop.kind == LoopKind::reward) add_value_head(run, network);
    count_parameters(network, session.recorder);
    if (is_pipeline(plan))
        run_pipeline(run, network);
    else if (plan.loop.kind == LoopKind::plain)
        run_plain(run, network);
    else if (has_value_model(plan.loop.kind))
        run_ppo(run, network);
    else
        run_trainer(run, network, std::move(reference));
}

}  // namespace

RunSizes sizes_of(const TrainPlan& plan) {
    return {plan.training.per_device_train_batch_size, plan.batch.sequence_length, plan.peft ? plan.peft->r : 0};
}

Program record(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device) {
    Session session(stack, device);
    run_all({session, spec, plan, stack, sizes_of(plan)});
    return session.recorder.take();
}

Program record_recorded(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                        const network::Document& recording) {
    ModelSpec recorded = spec;
    recorded.recording = std::shared_ptr<const network::Document>(std::shared_ptr<void>(), &recording);
    return record(recorded, plan, stack, device);
}

Program record_every_batch(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device) {
    Session session(stack, device);
    session.repeats = false;
    run_all({session, spec, plan, stack, sizes_of(plan)});
    return session.recorder.take();
}

Summary summarize(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device) {
    Session session(stack, device, Keep::summary);
    run_all({session, spec, plan, stack, sizes_of(plan)});
    return session.recorder.summary();
}

namespace {

/// The plan's sizes, those of an axis as symbols.
RunSizes symbolic_sizes(symbolic::Symbols& symbols, const TrainPlan& plan, const FormulaAxes& axes) {
    const auto axis = [&symbols](std::int64_t value, const AxisRange& range) {
        return symbols.axis(value, range.low, range.high);
    };
    RunSizes sizes = sizes_of(plan);
    sizes.batch = axis(plan.training.per_device_train_batch_size, axes.batch);
    sizes.length = axis(plan.batch.sequence_length, axes.length);
    if (plan.peft) sizes.rank = axis(plan.peft->r, axes.rank);
    return sizes;
}

/// Runs with the axes as symbols and makes the answer of what is kept.
template <class Answer>
auto run_symbolically(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                      const FormulaAxes& axes, Keep keep, Answer answer) {
    symbolic::Symbols symbols;
    const symbolic::Recording recording(symbols);
    const RunSizes sizes = symbolic_sizes(symbols, plan, axes);
    Session session(stack, device, symbols, keep);
    run_all({session, spec, plan, stack, sizes});
    return answer(symbols, session.recorder);
}

}  // namespace

Formula formulate(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                  const FormulaAxes& axes) {
    return run_symbolically(
        spec, plan, stack, device, axes, Keep::formula_and_program,
        [](const symbolic::Symbols& symbols, Recorder& kept) { return Formula(symbols, kept.take_front()); });
}

FormulaAndProgram formulate_with_program(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack,
                                         const Device& device, const FormulaAxes& axes) {
    return run_symbolically(spec, plan, stack, device, axes, Keep::formula_and_program,
                            [](const symbolic::Symbols& symbols, Recorder& kept) {
                                Formula formula(symbols, kept.take_front());
                                Program program = kept.take();
                                return FormulaAndProgram{
                                    std::move(formula),
                                    ProgramTemplate(symbols, std::move(program), kept.sizes(), kept.parameters)};
                            });
}

ProgramTemplate record_template(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                                const FormulaAxes& axes) {
    return run_symbolically(spec, plan, stack, device, axes, Keep::symbolic_program,
                            [](const symbolic::Symbols& symbols, Recorder& kept) {
                                Program program = kept.take();
                                return ProgramTemplate(symbols, std::move(program), kept.sizes(), kept.parameters);
                            });
}

PathGrowth growth_of_path(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                          const FormulaAxes& axes) {
    return run_symbolically(
        spec, plan, stack, device, axes, Keep::formula_and_program,
        [](const symbolic::Symbols& symbols, Recorder& kept) { return PathGrowth(symbols, kept.take_front()); });
}

void record_symbols(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                    const FormulaAxes& axes, const UseSymbols& use) {
    run_symbolically(spec, plan, stack, device, axes, Keep::symbolic_program,
                     [&use](const symbolic::Symbols& symbols, Recorder& kept) {
                         const Program program = kept.take();
                         use(symbols, program, kept.sizes());
                         return 0;
                     });
}

}  // namespace vramfit::model
