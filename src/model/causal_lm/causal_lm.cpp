// transformers 5.17 models/llama/modeling_llama.py LlamaModel.forward and LlamaForCausalLM.forward.
#include "model/causal_lm/causal_lm.hpp"

#include <utility>

#include "engine/backward.hpp"
#include "engine/checkpoint.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/adapters/kinds/adalora.hpp"
#include "model/adapters/trained_tokens.hpp"
#include "model/causal_lm/classification.hpp"
#include "model/causal_lm/decoder_4_40.hpp"
#include "model/causal_lm/prompted_batch.hpp"
#include "model/layers/attention/attention_4_40.hpp"
#include "model/layers/family.hpp"
#include "model/layers/liger.hpp"
#include "model/layers/masks/masks.hpp"
#include "model/layers/rotary.hpp"
#include "model/losses/balancing_loss.hpp"
#include "model/losses/cut_loss.hpp"
#include "model/losses/loss.hpp"
#include "model/network/called.hpp"
#include "model/network/in_module.hpp"
#include "model/network/modules.hpp"
#include "model/network/unit_hooks.hpp"
#include "spec/network/document.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor positions(Session& session, Size length) {
    Tensor ids = arange(session, length);
    if (session.stack.positions_are_offset()) ids = add(ids, 0);
    return unsqueeze(ids, 0);
}

/// What the function of a checkpointed layer keeps besides its tensor arguments, and those: torch saves them for
/// backward and drops them with the layer's node. GradientCheckpointingLayer.__call__, or in older releases
/// _gradient_checkpointing_func(decoder_layer.__call__, hidden_states, attention_mask, position_ids, ...).
Arguments split_arguments(const Run& run, const Tensor& hidden, LayerInputs& kept) {
    const bool all = run.stack.layers_take_positional_arguments();
    if (!all && family_of(run.spec.model_type).mask_is_positional) return {hidden, std::exchange(kept.masks.full, {})};
    if (!all) return {hidden};
    return {hidden, std::exchange(kept.masks.full, {}), std::exchange(kept.position_ids, {})};
}

/// What a checkpointed layer's function has for named arguments: they go in the order of the call, tuples from behind.
struct NamedInputs : LayerInputs {
    NamedInputs(const LayerInputs& inputs, bool positions_first)
        : LayerInputs(inputs), positions_before_tables(positions_first) {}
    NamedInputs(const NamedInputs&) = default;
    NamedInputs& operator=(const NamedInputs&) = delete;
    ~NamedInputs() {
        for (Tensor* t : {&masks.full, &masks.sliding}) t->reset();
        if (positions_before_tables) position_ids.reset();
        for (Tensor* t : {&rotary.sin, &rotary.cos, &sliding_rotary.sin, &sliding_rotary.cos, &position_ids})
            t->reset();
    }
    bool positions_before_tables;
};

LayerInputs joined(const LayerInputs& kept, std::span<const Tensor> arguments) {
    LayerInputs inputs = kept;
    if (arguments.size() == 1) return inputs;
    inputs.masks.full = arguments[1];
    if (arguments.size() > 2) inputs.position_ids = arguments[2];
    return inputs;
}

/// The windows that begin with a layer's forward, and once the gradient of its input is complete.
void begin_layer(const Run& run, const Network& network, const DecoderLayer& layer, const Tensor& hidden,
                 const Place& place) {
    run.session.recorder.begin(phase_at(PhaseKind::forward_layer, place, layer.index));
    on_gradient_complete(hidden, &layer == &network.layers.front()
                                     ? phase_at(PhaseKind::backward_embedding, place)
                                     : phase_at(PhaseKind::backward_layer, place, layer.index - 1));
}

/// DecoderLayer.__call__, inside of what checkpoints it.
Tensor call_layer(const Run& run, const Network& network, const DecoderLayer& layer, const Tensor& hidden,
                  const LayerInputs& inputs, const Place& place) {
    const Family& family = family_of(run.spec.model_type);
    if (!network.hooks || network.hooks->around_checkpoints())
        return called(&layer, Part::itself, hidden,
                      [&](const Tensor& given) { return family.layer(run, family, layer, given, inputs); });
    const auto index = static_cast<std::size_t>(layer.index);
    const Tensor given = network.hooks->before_layer(index, hidden);
    if (!run.session.recomputing) begin_layer(run, network, layer, given, place);
    Tensor out = family.layer(run, family, layer, given, inputs);
    network.hooks->after_layer(index, out);
    return out;
}

Tensor run_layer(const Run& run, const Network& network, const DecoderLayer& layer, const Tensor& hidden,
                 const LayerInputs& inputs, const Place& place) {
    const Family& family = family_of(run.spec.model_type);
    if (network.checkpointing == Checkpointing::off) return call_layer(run, network, layer, hidden, inputs, place);
    // The layer is given its own mask and its own tables only (Gemma3TextModel.forward).
    LayerInputs kept = inputs;
    const bool slides = layer.attention == LayerAttention::sliding;
    if (run.stack.masks_are_boolean()) (slides ? kept.masks.full : kept.masks.sliding).reset();
    if (family.rotary_by_type) (slides ? kept.rotary : kept.sliding_rotary) = {};
    // The function of the checkpointed layer holds these until it has run again.
    for (const Tensor& t : {kept.masks.full, kept.masks.sliding, kept.position_ids}) label_saved(t);
    const Arguments arguments = split_arguments(run, hidden, kept);
    const Unit unit = [&run, &network, &layer, kept = NamedInputs(kept, family.positions_before_tables),
                       place](std::span<const Tensor> given) {
        const Scoped<Module> in_layer(run.session.recorder.module, {layer.index, 0});
        return call_layer(run, network, layer, given[0], joined(kept, given), place);
    };
    return network.checkpointing == Checkpointing::reentrant ? checkpoint_reentrant(unit, arguments)
                                                             : checkpoint_non_reentrant(unit, arguments);
}

/// utils/generic.py merge_with_config_defaults: use_cache is the config's, unless layers are checkpointed.
bool keeps_cache(const Run& run, const Network& network) {
    const bool trainer = run.plan.loop.kind != LoopKind::plain && run.stack.trainer_decides_about_cache();
    const bool wanted = trainer ? run.plan.training.use_cache : run.spec.use_cache;
    if (!wanted || network.checkpointing != Checkpointing::off) return false;
    const bool trains = run.session.training;
    if (trains && !run.stack.training_fills_caches()) return false;
    if (run.spec.model_type == "gemma2" &&
        !(trains ? run.stack.training_fills_gemma2_caches() : run.stack.gemma2_evaluates_with_cache()))
        return false;
    return true;
}

/// cos and sin, of each kind of layer where the family tells them apart (Gemma3TextModel.forward).
void make_tables(const Family& family, const Network& network, DType of_hidden, LayerInputs& inputs) {
    ModuleHooks* const hooks = inputs.position_ids.session().module_hooks;
    const DType dtype = family.float32_rotary ? DType::float32 : of_hidden;
    const auto tables = [&](std::size_t i) {
        if (hooks) hooks->before(key_of(&network, Part::rotary), {});
        auto made = rotary_tables(network.buffers[i], dtype, inputs.position_ids, family.half_tables,
                                  family.tables_of_neighbours);
        if (hooks) hooks->after(key_of(&network, Part::rotary), {});
        return made;
    };
    if (!family.rotary_by_type) {
        inputs.rotary = tables(0);
        return;
    }
    const LayerKinds kinds = layer_kinds(*network.spec);
    if (kinds.full) inputs.rotary = tables(0);
    if (kinds.sliding) inputs.sliding_rotary = tables(kinds.full ? 2 : 0);
}

/// modeling_utils.py warn_if_padding_and_no_attention_mask: pad_token_id in input_ids[:, [-1, 0]].
void look_for_padding(const Tensor& ids) {
    Session& session = ids.session();
    Tensor ends;
    {
        const Tensor places = to_device(host_tensor(session, {2}, DType::int64));
        ends = empty(session, {ids.size(0), 2}, DType::int64, Op::index);
    }
    const Tensor equal = compare(Op::eq, ends);
    const Tensor any = reduce(equal, 3, false, DType::boolean, Op::any);
}

/// LlamaModel.forward: the last hidden state.
Tensor decoder(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
               const Place& place) {
    const Family& family = family_of(run.spec.model_type);
    if (family.looks_for_padding && run.spec.pad_token_id && !batch.attention_mask.defined() &&
        batch.input_ids.defined())
        look_for_padding(batch.input_ids);
    if (network.hooks) network.hooks->before_embedding();
    Tensor embedded = batch.inputs_embeds.defined() ? batch.inputs_embeds : embed(network, batch.input_ids);
    if (network.hooks) network.hooks->after_embedding(embedded);
    if (family.multiplies_embedding) embedded = mul(embedded, 1.0);  // GraniteModel
    LayerInputs inputs;
    inputs.position_ids = batch.position_ids.defined() ? batch.position_ids : positions(run.session, embedded.size(1));
    inputs.cache = cache;
    Tensor hidden = embedded, position_embeds;
    if (network.positions.rows > 0) {  // GPT2Model
        position_embeds = forward(network.positions, inputs.position_ids);
        hidden = add(embedded, position_embeds);
    }
    if (run.stack.masks_are_boolean())
        inputs.masks = make_masks(run, embedded, batch, inputs);
    else
        inputs.masks.full = mask_4_40(run, family, embedded, batch, select(inputs.position_ids, 0));
    const auto dropped = [&](const Tensor& given) {
        const InModule in_dropout(run.session, family.embedding_dropout);
        return dropout(given, run.spec.embedding_dropout);
    };
    hidden = family.embedding_dropout.empty() ? dropped(hidden) : called(&network, Part::dropout, hidden, dropped);
    if (family.rotate) {
        update_frequencies(network, inputs.position_ids);
        make_tables(family, network, hidden.dtype(), inputs);
    }
    // GemmaModel: the normalizer is a number in host memory.
    if (family.scales_embedding && !network.embed.scale.defined() && !batch.inputs_embeds.defined())
        hidden = mul(hidden, host_tensor(run.session, {}, hidden.dtype()));
    Tensor last = run_layers(run, network, std::move(hidden), inputs, place);
    const bool has_dictionary = run.stack.masks_are_boolean() && family.masks_from_dictionary;
    if (has_dictionary && family.masks_without_positions) inputs.position_ids.reset();
    if (has_dictionary)
        for (Tensor* t : {&inputs.masks.full, &inputs.masks.sliding, &embedded}) t->reset();
    inputs.position_ids.reset();  // the function's arguments go before its other variables
    embedded.reset();
    if (family.rotary_by_type)
        for (Tensor* t : {&inputs.rotary.sin, &inputs.rotary.cos}) t->reset();
    return last;
}

/// LLaMA-Factory 0.9.5 model/model_utils/checkpointing.py get_custom_gradient_checkpointing_func: a checkpointed
/// layer's input asks for gradients. Of networks that are not packed peft's hook on the embedding does.
bool layers_ask_for_gradients(const Run& run, const Network& network) {
    return by_llama_factory(run.plan) && network.checkpointing != Checkpointing::off && run.plan.load.quantization;
}

}  // namespace

Tensor run_layers(const Run& run, const Network& network, Tensor hidden, const LayerInputs& inputs,
                  const Place& place) {
    Session& session = run.session;
    if (layers_ask_for_gradients(run, network) && !hidden.requires_grad()) hidden.set_requires_grad(true);
    for (const DecoderLayer& layer : network.layers) {
        const Scoped<Module> in_layer(session.recorder.module, {layer.index, 0});
        UnitHooks* const around = network.hooks && network.hooks->around_checkpoints() ? network.hooks : nullptr;
        if (around) hidden = around->before_layer(static_cast<std::size_t>(layer.index), hidden);
        if (!network.hooks || around) begin_layer(run, network, layer, hidden, place);
        if (run.hidden_states) run.hidden_states->push_back(hidden);
        Tensor out = run_layer(run, network, layer, hidden, inputs, place);
        if (around) around->after_layer(static_cast<std::size_t>(layer.index), out);
        hidden = std::move(out);  // what it was called with is held until its hooks have run
    }
    if (network.hooks) hidden = network.hooks->before_norm(hidden);
    if (network.ends_with_layers) return hidden;
    session.recorder.begin(phase_at(PhaseKind::head, place));
    on_gradient_complete(hidden, phase_at(PhaseKind::backward_layer, place, network.layers.back().index));
    const NormFunction norm = norm_behind_layers(run, family_of(run.spec.model_type).norm);
    const Tensor last = norm(network.norm, hidden);
    session.begin_loss();
    return last;
}

// The model inside: its arguments have names, its output is a tuple.
Tensor last_hidden_state(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
                         const Place& place) {
    if (run.recorded) return recorded_last_hidden_state(run, network, batch, place);
    ModuleHooks* const hooks = run.session.module_hooks;
    if (hooks) hooks->before(key_of(&network, Part::decoder), {});
    run.session.recorder.begin(phase_at(PhaseKind::embedding, place));
    const Tensor hidden = run.stack.attention_in_classes() ? decoder_4_40(run, network, batch, cache, place)
                                                           : decoder(run, network, batch, cache, place);
    return hooks ? hooks->after(key_of(&network, Part::decoder), hidden) : hidden;
}

bool has_its_own_loss(const Run& run) {
    if (run.spec.recording) return !run.spec.recording->accepts_loss_kwargs;
    return run.spec.model_type == "mistral" && run.stack.mistral_has_its_own_loss();
}

namespace {

/// `given`: a cache that begins with something; null: one of the network's own, if it has one.
Output causal_lm_forward(const Run& run, const Network& network, const Batch& batch, const Tensor& items,
                         const Place& place, const KvCachePointer& given = {}) {
    const KvCachePointer cache = given ? given : make_cache(run, network);
    if (run.recorded && cache)
        throw Error(ErrorKind::unsupported, "training.use_cache",
                    "a recorded network with a cache was not compared yet", "set use_cache to false");
    if (classifies_rows(run)) return classified(run, network, batch, place);
    if (run.recorded) return recorded_causal_lm(run, network, batch, items, place);
    const Family& family = family_of(run.spec.model_type);
    RouterOutputs routers;
    std::vector<Tensor> hidden_states;
    const bool keeps_states =
        has_value_model(run.plan.loop.kind) || (by_llama_factory(run.plan) && run.plan.loop.kind == LoopKind::reward);
    Tensor hidden;
    {
        const Scoped keeps(run.hidden_states, keeps_states ? &hidden_states : nullptr);
        const Scoped collects(run.routers, balances_experts(run) ? &routers : nullptr);
        hidden = last_hidden_state(run, network, batch, cache, place);
        if (keeps_states) hidden_states.push_back(hidden);
    }
    if (uses_liger(run) && batch.labels.defined())
        return {liger_loss(hidden, read_head_weight(network), batch.labels, items), {}, cache};
    if (cuts_cross_entropy(run) && batch.labels.defined())
        return {cut_loss(hidden, read_head_weight(network), batch.labels, items), {}, cache};
    Tensor kept = hidden;
    if (batch.kept.defined()) {  // hidden_states[:, slice_indices, :] of one row
        const Tensor row = view(hidden, {hidden.size(1), hidden.size(2)});
        kept = view(index_by_mask(row, batch.kept, *batch.logits_to_keep), {1, *batch.logits_to_keep, hidden.size(2)});
    } else if (run.stack.head_takes_a_slice()) {
        const Size first = batch.logits_to_keep ? hidden.size(1) - *batch.logits_to_keep : Size(0);
        kept = batch.logits_to_keep ? slice(whole(hidden, 0), 1, first, hidden.size(1)) : whole(whole(hidden, 0), 1);
        kept = whole(kept, 2);
    }
    if (network.hooks) kept = network.hooks->before_head(kept);
    Tensor logits;
    {
        const Scoped<Module> in_head(run.session.recorder.module, {-1, run.session.recorder.intern("lm_head")});
        logits = network.tied && network.embed.tokens ? functional_linear(kept, merged_table(network.embed))
                                                      : forward(network.head, kept);
    }
    if (network.hooks) network.hooks->after_head(logits);
    kept.reset();
    if (family.shape_logits) logits = family.shape_logits(run, std::move(logits));
    const bool own_loss = has_its_own_loss(run);
    if (run.stack.logits_are_float32() || own_loss) logits = to(logits, DType::float32);
    Tensor loss;
    if (batch.shift_labels.defined())
        loss = shifted_labels_loss(logits, batch.shift_labels, items);
    else if (batch.labels.defined())
        loss = causal_lm_loss(run, logits, batch.labels, own_loss ? Tensor() : items);
    Tensor aux_loss;
    if (!routers.logits.empty()) {
        aux_loss = balancing_loss(run, routers, batch.attention_mask);
        if (loss.defined()) add_in_place(loss, mul(aux_loss, 1.0));
    }
    return {loss,
            logits,
            keeps_cache(run, network) ? cache : nullptr,
            aux_loss,
            std::move(routers.logits),
            std::move(hidden_states)};
}

}  // namespace

const Tensor& read_head_weight(const Network& network) {
    read(network.head.weight);
    return network.head.weight;
}

KvCachePointer make_cache(const Run& run, const Network& network) {
    return keeps_cache(run, network) ? std::make_shared<KvCache>(network.layers.size()) : nullptr;
}

Output causal_lm(const Run& run, const Network& network, const Batch& batch, const Tensor& items, const Place& place) {
    const CalledModel model(run, network, place);
    Output output = [&] {
        if (!network.prompt) return causal_lm_forward(run, network, batch, items, place);
        const PromptedBatch given = prompted(run, network, batch, place);
        return causal_lm_forward(run, network, given.batch, items, place, given.cache);
    }();
    if (output.loss.defined() && run.plan.peft && run.plan.peft->kind == AdapterKind::adalora)
        add_orthogonality(*run.plan.peft, network, output.loss);
    Tensor* const outputs[] = {&output.loss};  // no gradient goes through the logits
    model.finish(outputs);
    return output;
}

void begin_loss(const Run& run, const Place& place) {
    run.session.recorder.begin(phase_at(PhaseKind::loss, place));
    run.session.begin_loss();
}

CalledModel::CalledModel(const Run& run, const Network& network, const Place& place) : run_(run), network_(network) {
    if (!run.session.module_hooks) return;
    run.session.recorder.begin(phase_at(PhaseKind::embedding, place));
    parts_ = {Part::whole};
    if (run.plan.peft) parts_ = {Part::adapted, Part::tuner, Part::whole};
    for (const Part part : parts_) run.session.module_hooks->before(key_of(&network, part), {});
}

void CalledModel::finish(std::span<Tensor* const> outputs) const {
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
        run_.session.module_hooks->after_all(key_of(&network_, *part), outputs);
}

}  // namespace vramfit::model
