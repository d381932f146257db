// unsloth 2026.10.7, models/llama.py LlamaModel_fast_forward and LlamaDecoderLayer_fast_forward; mistral and qwen2 run
// the same.
#include "model/unsloth/decoder.hpp"

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "model/layers/mlp.hpp"
#include "model/network/modules.hpp"
#include "model/unsloth/attention.hpp"
#include "model/unsloth/checkpoint.hpp"
#include "model/unsloth/fused_lora.hpp"
#include "model/unsloth/norm.hpp"
#include "model/unsloth/rotary.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor run_unsloth_layer(const Run& run, const DecoderLayer& layer, const Tensor& input, const Batch& batch,
                         const PositionTables& tables) {
    Tensor residual = input;
    Tensor hidden = fused_norm(run, layer.input_norm, residual);
    hidden = packed_attention(run, layer, hidden, batch, tables);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = fused_norm(run, layer.post_attention_norm, hidden);
    const bool fused = is_fused({&layer.gate, &layer.up, &layer.down});
    hidden = fused ? fused_mlp(*run.unsloth, layer, hidden) : gated_mlp(run, layer, hidden);
    return add(residual, hidden);
}

/// The window that begins once the gradient of a layer's input is complete.
void mark_backward(const DecoderLayer& layer, const Tensor& hidden, const Place& place) {
    on_gradient_complete(hidden, layer.index == 0 ? phase_at(PhaseKind::backward_embedding, place)
                                                  : phase_at(PhaseKind::backward_layer, place, layer.index - 1));
}

/// models/llama.py: multiplied before it asks for gradients.
Tensor scaled(const Tensor& embedded) {
    const GradMode no_grad(embedded.session(), false);
    Tensor out = mul(detach(embedded), 1.0);
    out.set_requires_grad(embedded.requires_grad());
    out->is_activation = true;
    return out;
}

/// models/vision.py _install_offload_embedding_hooks: the rows that are wanted go to the device.
Tensor looked_up_on_host(const Run& run, const Network& network, const Batch& batch) {
    const Dims sizes{batch.input_ids.size(0), batch.input_ids.size(1), run.spec.hidden_size};
    return with_input_gradient(network.embed, to_device(host_tensor(run.session, sizes, network.embed.weight.dtype())));
}

}  // namespace

Tensor unsloth_decoder(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    Session& session = run.session;
    session.recorder.begin(phase_at(PhaseKind::embedding, place));
    Batch kept;  // what a layer's function holds until it has run again
    if (run.plan.unsloth.padding_free) {
        kept.position_ids = to(batch.position_ids, DType::int32);
        kept.row_lengths = batch.row_lengths;
        kept.rows_alike = batch.rows_alike;
        label(kept.position_ids, Category::stored_activations);
    }
    Tensor hidden =
        run.unsloth->embedding_on_host ? looked_up_on_host(run, network, batch) : embed(network, batch.input_ids);
    hidden = to(hidden, run.plan.load.dtype);  // a trained embedding of float16 is in float32
    if (is_gemma(run)) hidden = trained_ends(run.spec, run.plan).embedding ? mul(hidden, 1.0) : scaled(hidden);
    const Tensor embedded = trained_ends(run.spec, run.plan).embedding ? hidden : Tensor();  // a local of the forward
    make_position_tables(run);
    const PositionTables tables = run.unsloth->tables;  // which a layer's function holds, even if they grow
    for (const DecoderLayer& layer : network.layers) {
        const Scoped<Module> in_layer(session.recorder.module, {layer.index, 0});
        mark_backward(layer, hidden, place);
        const Unit unit = [&run, &layer, kept, tables, place](std::span<const Tensor> given) {
            const Scoped<Module> in_this_layer(run.session.recorder.module, {layer.index, 0});
            if (!run.session.recomputing)
                run.session.recorder.begin(phase_at(PhaseKind::forward_layer, place, layer.index));
            return run_unsloth_layer(run, layer, given[0], kept, tables);
        };
        hidden = checkpoint_layer(run, network, layer, unit, hidden);
    }
    end_of_forward(run);
    session.recorder.begin(phase_at(PhaseKind::head, place));
    on_gradient_complete(hidden, phase_at(PhaseKind::backward_layer, place, network.layers.back().index));
    return fused_norm(run, network.norm, hidden);
}

}  // namespace vramfit::model
