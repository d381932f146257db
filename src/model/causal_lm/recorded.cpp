// XForCausalLM.forward as it was recorded from the library.
#include "engine/backward.hpp"
#include "model/causal_lm/causal_lm.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/layers/liger.hpp"
#include "model/losses/cut_loss.hpp"
#include "model/losses/loss.hpp"
#include "model/parallel/context/context_parallel.hpp"
#include "model/recorded/interpreter.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

std::string_view recorded_attention(AttentionImplementation attention) {
    switch (attention) {
        case AttentionImplementation::eager: return "eager";
        case AttentionImplementation::sdpa: return "sdpa";
        case AttentionImplementation::flash_attention_2: return "flash_attention_2";
    }
    return "";
}

std::string_view recorded_mask(const Run& run, const Batch& batch) {
    if (!batch.attention_mask.defined()) return "absent";
    return sees_padding(run.plan) ? "padded" : "full";
}

/// The windows that the families' own forward has.
RecordedWindows windows_of(const Run& run, const Network& network, const Place& place) {
    const auto phase = [place](PhaseKind kind, std::int32_t layer = -1) { return phase_at(kind, place, layer); };
    Session& session = run.session;
    const auto last = static_cast<std::int32_t>(run.recorded->units()) - 1;
    return {[&session, phase, first = network.first_layer](std::int32_t layer, const Tensor& hidden) {
                session.recorder.begin(phase(PhaseKind::forward_layer, layer));
                on_gradient_complete(hidden, layer == first ? phase(PhaseKind::backward_embedding)
                                                            : phase(PhaseKind::backward_layer, layer - 1));
            },
            [&session, phase, last](const Tensor& hidden) {
                session.recorder.begin(phase(PhaseKind::head));
                on_gradient_complete(hidden, phase(PhaseKind::backward_layer, last));
            }};
}

}  // namespace

namespace {

RecordedQuestion question_of(const Run& run, const Network& network, const Batch& batch, bool items) {
    const Tensor& given = batch.inputs_embeds.defined() ? batch.inputs_embeds : batch.input_ids;
    return {recorded_attention(run.plan.load.attention),
            recorded_mask(run, batch),
            given.size(0),
            given.size(1),
            batch.labels.defined(),
            items,
            network.checkpointing != Checkpointing::off};
}

}  // namespace

// trl 1.16 trainer/utils.py _fused_forward: the same call as that of the network with its head, which is given the
// number of labels in training.
Tensor recorded_last_hidden_state(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    const DType weights = dtype_in_forward(run);
    const network::Variant& variant =
        variant_for_base(*run.recorded, question_of(run, network, batch, true), weights, run.session.autocast.enabled);
    run.session.recorder.begin(phase_at(PhaseKind::embedding, place));
    return run_recorded_base(run, network, *run.recorded, variant, weights,
                             {{"input_ids", batch.input_ids},
                              {"inputs_embeds", batch.inputs_embeds},
                              {"attention_mask", batch.attention_mask},
                              {"position_ids", batch.position_ids}},
                             windows_of(run, network, place));
}

Output recorded_causal_lm(const Run& run, const Network& network, const Batch& batch, const Tensor& items,
                          const Place& place) {
    // Forwards that give the last hidden states, as they are, to a loss with the head in it: axolotl-ai-cloud/
    // ml-cross-entropy apply_lce, liger-kernel 0.8.5 transformers/model/*.py lce_forward.
    if ((cuts_cross_entropy(run) || uses_liger(run)) && batch.labels.defined()) {
        const auto fused_loss = uses_liger(run) ? liger_loss : cut_loss;
        const Tensor hidden = recorded_last_hidden_state(run, network, batch, place);
        Output output;
        output.loss = fused_loss(hidden, read_head_weight(network), batch.labels, items);
        return output;
    }
    const DType weights = dtype_in_forward(run);
    const network::Variant& variant = variant_for(*run.recorded, question_of(run, network, batch, items.defined()),
                                                  weights, run.session.autocast.enabled);
    run.session.recorder.begin(phase_at(PhaseKind::embedding, place));
    const std::vector<NamedTensor> given = {
        {"input_ids", batch.input_ids},       {"attention_mask", batch.attention_mask}, {"labels", batch.labels},
        {"position_ids", batch.position_ids}, {"shift_labels", batch.shift_labels},     {"num_items_in_batch", items}};
    Output output;
    for (NamedTensor& made : run_recorded(run, network, *run.recorded, variant, weights, given,
                                          windows_of(run, network, place), batch.logits_to_keep)) {
        Tensor& kept = made.name == "loss"     ? output.loss
                       : made.name == "logits" ? output.logits
                                               : output.others.emplace_back();
        kept = std::move(made.tensor);
    }
    return output;
}

Tensor recorded_last_logits(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache) {
    const Place place;
    run.session.recorder.begin(phase_at(PhaseKind::embedding, place));
    return run_generating(run, network, *run.recorded, batch, cache, dtype_in_forward(run),
                          windows_of(run, network, place));
}

}  // namespace vramfit::model
