// trl 1.16 trainer/grpo_trainer.py GRPOTrainer.__init__, experimental/gkd/gkd_trainer.py GKDTrainer.__init__:
// from_pretrained without a device map, accelerator.prepare_model(evaluation_mode=True). Nothing freezes their weights.
#include "model/second/second_network.hpp"

#include <utility>

#include "model/causal_lm/classification.hpp"
#include "model/loading/load.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What from_pretrained is told, and the forward: transformers 5 takes the checkpoint's dtype where none is named, and
/// the config's use_cache, which no Trainer has written.
TrainPlan plan_of(const TrainPlan& policy, const SecondNetwork& asked) {
    TrainPlan out = policy;
    out.load = LoadPlan{};
    out.load.dtype = asked.dtype.value_or(asked.model.checkpoint_dtype.value_or(DType::float32));
    out.load.attention = asked.attention;
    out.load.on_device = asked.on_device;
    out.load.quantization = asked.quantization;
    out.load.without_threads = policy.load.without_threads;
    out.prepare_kbit.reset();
    out.peft.reset();
    out.training.use_cache = asked.model.use_cache;
    out.reward_models.clear();
    out.teacher.reset();
    out.value_model.reset();
    return out;
}

EvaluatedNetwork described(const Run& run, const SecondNetwork& asked, bool gives_rewards) {
    EvaluatedNetwork out;
    out.spec = std::make_unique<ModelSpec>(gives_rewards ? spec_of_classifier(asked.model, 1, false) : asked.model);
    out.plan = std::make_unique<TrainPlan>(plan_of(run.plan, asked));
    return out;
}

/// All that lives of what was allocated since `first` is the network.
void name_all(Recorder& recorder, std::uint32_t first, Category category) {
    for (std::uint32_t id = first; id < recorder.next_id(); ++id) {
        const Category now = recorder.label_of(id);
        if (now == Category::weights || now == Category::quantization_state) recorder.label(id, category);
    }
}

void load_onto_card(const Run& run, EvaluatedNetwork& second, Category category) {
    const std::uint32_t first = run.session.recorder.next_id();
    const Run asked = second.on(run, run.sizes);
    const Scoped<bool> again(run.session.loads_again, true);
    second.network = std::make_unique<Network>(load(asked));
    // Under autocast a float32 weight that could be trained keeps its cast (autocast_mode.cpp), but in inference mode.
    const bool may_keep_casts = category != Category::reward_models;
    for (const NamedParameter& p : named_parameters(*second.network)) p.tensor->set_requires_grad(may_keep_casts);
    name_all(run.session.recorder, first, category);
}

bool is_loaded_by_script(const EvaluatedNetwork& second) {
    return second.plan->load.on_device || second.plan->load.quantization;
}

/// A window of its own around what `act` does to the network, or to each.
template <class Act>
void with_one(const Run& run, EvaluatedNetwork& second, PhaseKind window, Category category, const Act& act) {
    Recorder& recorder = run.session.recorder;
    act(second, category, [&] { recorder.begin({window}); });
    recorder.begin({PhaseKind::trainer});
}

template <class Act>
void with_value_model(const Run& run, const Act& act) {
    if (run.evaluated_networks->value_model)
        with_one(run, *run.evaluated_networks->value_model, PhaseKind::load_value, Category::weights, act);
}

template <class Act>
void with_each(const Run& run, const Act& act) {
    for (EvaluatedNetwork& second : run.evaluated_networks->reward_models)
        with_one(run, second, PhaseKind::load_reward, Category::reward_models, act);
    if (run.evaluated_networks->teacher)
        with_one(run, *run.evaluated_networks->teacher, PhaseKind::load_teacher, Category::teacher, act);
}

void place(const Run& run, EvaluatedNetwork& second, Category category) {
    if (!second.network) load_onto_card(run, second, category);
}

}  // namespace

void load_evaluated_networks(const Run& run) {
    if (!run.evaluated_networks || run.evaluated_networks->are_loaded) return;
    run.evaluated_networks->are_loaded = true;
    for (const SecondNetwork& asked : run.plan.reward_models)
        run.evaluated_networks->reward_models.push_back(described(run, asked, true));
    if (run.plan.teacher) run.evaluated_networks->teacher = described(run, *run.plan.teacher, false);
    if (run.plan.value_model) run.evaluated_networks->value_model = described(run, *run.plan.value_model, true);
    const auto load = [&](EvaluatedNetwork& second, Category category, const auto& begin) {
        if (!is_loaded_by_script(second)) return;
        begin();
        load_onto_card(run, second, category);
    };
    with_value_model(run, load);
    with_each(run, load);
}

void place_evaluated_networks(const Run& run) {
    if (!run.evaluated_networks) return;
    with_each(run, [&](EvaluatedNetwork& second, Category category, const auto& begin) {
        begin();
        place(run, second, category);
    });
}

void place_value_model(const Run& run) {
    with_value_model(run, [&](EvaluatedNetwork& second, Category category, const auto& begin) {
        begin();
        place(run, second, category);
    });
}

}  // namespace vramfit::model
