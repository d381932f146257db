// trl 1.16 trainer/dpo_trainer.py DPOTrainer.__init__; trainer/utils.py create_model_from_path, use_adapter; peft 0.21
// peft_model.py disable_adapter. LLaMA-Factory 0.9.5 train/trainer_utils.py create_ref_model.
#include "model/preferences/reference.hpp"

#include <utility>

#include "model/loading/load.hpp"
#include "model/loading/prepare.hpp"
#include "model/parallel/zero/zero.hpp"
#include "model/preferences/online/copied.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The tree of a recorded network, with this one's modules.
void bind_recording(const Run& run, Reference& reference) {
    if (!run.recorded) return;
    reference.recorded = std::make_unique<RecordedModel>(run.recorded->document());
    reference.recorded->bind(*reference.network);
}

/// Of one of several processes it is loaded in host memory: device_map is None (DPOTrainer.__init__), but under FSDP.
bool is_loaded_on_host(const Run& run) { return run.plan.distributed && !run.plan.distributed->as<Fsdp2Plan>(); }

/// create_model_from_path from the checkpoint as it is: with the policy's dtype and attention, or with its defaults.
Reference load_reference(const Run& run, Network& policy) {
    Reference out;
    out.plan = std::make_unique<TrainPlan>(run.plan);
    LoadPlan& load = out.plan->load;
    load.quantization.reset();
    load.on_device = !is_loaded_on_host(run);
    if (out.plan->distributed) {
        out.plan->distributed->load_on_device = load.on_device;
        out.plan->distributed->load_first = false;  // the trainer has its arguments: zero.Init is there
    }
    if (has_value_model(run.plan.loop.kind)) {
        load.on_device = false;  // the script's own, as it loads the policy; the trainer moves it
    } else if (by_llama_factory(run.plan)) {
        load.dtype = run.spec.checkpoint_dtype.value_or(load.dtype);  // torch_dtype="auto"
    } else if (run.stack.reference_is_like_policy()) {
        load.dtype = named_parameters(policy).front().tensor->dtype();  // PreTrainedModel.dtype
    } else {
        load.dtype = DType::float32;
        load.attention = AttentionImplementation::sdpa;
    }
    const Run reference = run.with(*out.plan);
    const Scoped<bool> again(run.session.loads_again, true);
    out.network = std::make_unique<Network>(model::load(reference));
    if (by_llama_factory(run.plan)) return out;  // load_model with is_trainable=False freezes them
    // Nothing freezes them: under autocast a float32 weight that could be trained keeps its cast (autocast_mode.cpp).
    for (const NamedParameter& p : named_parameters(*out.network)) p.tensor->set_requires_grad(true);
    return out;
}

/// create_reference_model, of online DPO, BCO and PPO.
Reference copy_reference(const Run& run, Network& policy) {
    Reference out;
    out.plan = std::make_unique<TrainPlan>(run.plan);
    out.network = copied_network(policy);
    out.network->checkpointing = Checkpointing::off;  // ref_model.eval()
    return out;
}

/// PPOTrainer may be given one that the script has loaded.
bool copies_reference(const TrainPlan& plan) {
    return copies_reference(plan.loop.kind) && !plan.preference.ppo.reference_is_given;
}

}  // namespace

// pipelines/train/rlhf.py _prepare_model_tokenizer; what is loaded is what the policy is.
Reference load_before_policy(const Run& run) {
    if (!by_ms_swift(run.plan) || run.plan.peft || !asks_reference(run.plan)) return {};
    run.session.recorder.begin({PhaseKind::load_reference});
    Reference out;
    out.plan = std::make_unique<TrainPlan>(run.plan);
    out.network = std::make_unique<Network>(model::load(run.with(*out.plan)));
    return out;
}

// axolotl 0.19 train.py setup_reference_model; loaders/model.py ModelLoader.load empties the cache behind each model.
Reference load_behind_policy(const Run& run) {
    Recorder& recorder = run.session.recorder;
    recorder.empty_cache();
    recorder.begin({PhaseKind::load_reference});
    Reference out;
    out.plan = std::make_unique<TrainPlan>(run.plan);
    const Run asked = run.with(*out.plan);
    const Scoped<bool> again(run.session.loads_again, true);
    out.network = std::make_unique<Network>(model::load(asked));
    for (const NamedParameter& p : named_parameters(*out.network)) p.tensor->set_requires_grad(true);
    if (out.plan->load.upcast)
        prepare_upcast(asked, *out.network, *out.plan->load.upcast);
    else if (out.plan->prepare_kbit)
        prepare_for_kbit_training(asked, *out.network, *out.plan->prepare_kbit);
    out.network->checkpointing = Checkpointing::off;  // from_pretrained leaves it in evaluation
    bind_recording(run, out);
    recorder.empty_cache();
    return out;
}

Reference make_reference(const Run& run, Network& policy) {
    if (run.plan.peft || run.plan.preference.precompute_ref_log_probs || !asks_reference(run.plan)) return {};
    run.session.recorder.begin({PhaseKind::load_reference});
    Reference reference = copies_reference(run.plan) ? copy_reference(run, policy) : load_reference(run, policy);
    bind_recording(run, reference);
    run.session.recorder.begin({PhaseKind::trainer});
    if (!run.plan.distributed) return reference;
    const Run asked = run_of_reference(run, reference, *reference.plan);
    if (is_partitioned(asked.plan))
        reference.pieces = std::make_unique<Zero3Reference>(asked, *reference.network);  // prepare_deepspeed, stage 3
    else if (zero_of(run.plan))
        place_by_deepspeed(asked, *reference.network);  // prepare_deepspeed, stage 0
    else if (run.plan.distributed->as<Fsdp2Plan>())
        reference.shards = std::make_unique<Fsdp2Reference>(asked, *reference.network);  // prepare_fsdp
    else
        move_to_device(asked, *reference.network);  // accelerator.prepare_model
    return reference;
}

// KTOTrainer of 1.9 and BCOTrainer ask for no use_cache: a reference that Trainer did not prepare has its config's.
TrainPlan plan_of_reference(const Run& run, const Reference& reference) {
    TrainPlan plan = run.plan;
    plan.load.attention = reference.plan->load.attention;
    plan.load.dtype = reference.plan->load.dtype;
    const bool kto = run.plan.loop.kind == LoopKind::kto && !run.stack.dpo_scores_in_chunks();
    if ((kto && !by_own_trainer(run.plan)) || run.plan.loop.kind == LoopKind::bco)
        plan.training.use_cache = run.spec.use_cache;
    // _enable_gradient_checkpointing writes it before the copy is made.
    if (generates_pairs(run.plan.loop.kind))
        plan.training.use_cache = run.spec.use_cache && !run.plan.training.gradient_checkpointing;
    return plan;
}

Run run_of_reference(const Run& run, const Reference& reference, const TrainPlan& plan) {
    Run out = run.with(plan);
    if (reference.recorded) out.recorded = reference.recorded.get();
    return out;
}

ModelSpec spec_without_adapters(const Run& run, const Network& policy) {
    ModelSpec out = run.spec;
    if (run.session.training && policy.checkpointing != Checkpointing::off) out.use_cache = false;
    return out;
}

WithinPhase::WithinPhase(Session& session, const Phase& phase) : session_(session) {
    session.recorder.begin(phase);
    session.end_loss();
    session.recorder.holds_phase = true;
}

WithinPhase::~WithinPhase() { session_.recorder.holds_phase = false; }

WithoutAdapters::WithoutAdapters(Network& network) : network_(network), bare_(bare_modules(network).size()) {
    const std::vector<BareModule*> bare = bare_modules(network);
    for (std::size_t i = 0; i < bare.size(); ++i) bare_[i].resize(bare[i]->lora.size());
    exchange();
}

WithoutAdapters::~WithoutAdapters() { exchange(); }

void WithoutAdapters::exchange() {
    const auto exchange_whole = [](auto& module) {
        if (!module.original) return;
        std::swap(module.weight, module.original->weight);
        if constexpr (requires { module.bias; }) std::swap(module.bias, module.original->bias);
        if constexpr (requires { module.scale; }) std::swap(module.scale, module.original->scale);
    };
    // What is sharded stays in its place.
    for (Linear* layer : linears(network_)) {
        if (layer->lora) layer->lora->off = !layer->lora->off;
        exchange_whole(*layer);
    }
    for (Embedding* layer : embeddings(network_)) {
        if (layer->lora) layer->lora->off = !layer->lora->off;
        exchange_whole(*layer);
    }
    std::size_t i = 0;
    for (BareModule* module : bare_modules(network_)) std::swap(module->lora, bare_[i++]);
    for (Norm* norm : norms(network_)) exchange_whole(*norm);
}

}  // namespace vramfit::model
