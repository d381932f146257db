// transformers 4.40 to 4.47 models/*/modeling_*.py: the three attention classes of a family.
#include "model/layers/attention/attention.hpp"

#include <utility>

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/flash_attn.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/attention/attention_4_40.hpp"
#include "model/layers/rotary.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// apply_rotary_pos_emb; some take the rows of the positions first.
void rotate(bool by_position, Tensor& q, Tensor& k, const Rotary& tables, const Tensor& position_ids) {
    if (!by_position) {
        apply_rotary(q, k, tables);
        return;
    }
    Dims sizes = position_ids.sizes();
    sizes.push(tables.cos.size(1));
    const Tensor cosine = empty(q.session(), sizes, tables.cos.dtype(), Op::index);
    const Tensor sine = empty(q.session(), sizes, tables.sin.dtype(), Op::index);
    apply_rotary(q, k, {cosine, sine});
}

/// LlamaAttention.forward from the scores on; `weights` stay until it returns.
Tensor eager(const Run& run, const Family& family, const Tensor& q, const Tensor& k, const Tensor& v,
             const Tensor& mask, Tensor& weights) {
    weights = matmul(q, transpose(k, 2, 3));
    weights = div(weights, 1.0);
    if (run.spec.attn_logit_softcapping) {
        weights = div(weights, *run.spec.attn_logit_softcapping);
        weights = tanh(weights);
        weights = mul(weights, *run.spec.attn_logit_softcapping);
    }
    if (mask.defined() && family.adds_mask_in_place)
        add_(weights, for_keys(mask, k));
    else if (mask.defined())
        weights = add(weights, for_keys(mask, k));
    {
        const Tensor probabilities = softmax(weights, true);
        weights = to(probabilities, q.dtype());
    }
    weights = dropout(weights, run.spec.attention_dropout);
    const Tensor out = matmul(weights, v);
    return contiguous(transpose(out, 1, 2));
}

/// LlamaSdpaAttention.forward from the mask on; q, k, v are rebound.
Tensor sdpa(const Run& run, Tensor& q, Tensor& k, Tensor& v, const Tensor& whole_mask) {
    const Tensor mask = for_keys(whole_mask, k);
    if (mask.defined()) {
        q = contiguous(q);
        k = contiguous(k);
        v = contiguous(v);
    }
    AttentionArguments arguments;
    arguments.is_causal = !mask.defined() && q.size(2) > 1;
    arguments.dropout = run.attention_dropout();
    arguments.forced = run.plan.load.sdpa_kernel;
    const Tensor out = scaled_dot_product_attention(q, k, v, mask, arguments);
    return contiguous(transpose(out, 1, 2));
}

/// MistralFlashAttention2.forward and Qwen2's: the host reads the highest position.
void read_last_position(const Tensor& position_ids) {
    const Tensor last = select(position_ids, 1);
    const Tensor highest = reduce(last, 1, false, DType::int64, Op::max);
}

/// *FlashAttention2.forward from the cast of float32 on, and _flash_attention_forward without padding.
Tensor flash(const Run& run, Tensor& q, Tensor& k, Tensor& v, const Tensor& position_ids) {
    if (q.dtype() == DType::float32) {
        const DType dtype = run.session.autocast.enabled ? run.session.autocast.dtype : run.plan.load.dtype;
        q = to(q, dtype);
        k = to(k, dtype);
        v = to(v, dtype);
    }
    const Tensor packed = look_for_packed_rows(run, position_ids, q.size(0));
    return flash_attn_func(transpose(q, 1, 2), transpose(k, 1, 2), transpose(v, 1, 2), run.attention_dropout());
}

/// q_proj, k_proj and v_proj one after the other, then the heads; or the family's own way.
Projected projections_4_40(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden) {
    if (family.project != separate_projections) return family.project(run, family, layer, hidden);
    Projected out{forward(layer.q, hidden), forward(layer.k, hidden), forward(layer.v, hidden), {}};
    for (Tensor* t : {&out.q, &out.k, &out.v})
        *t = transpose(view(*t, {t->size(0), t->size(1), -1, run.spec.head_dim}), 1, 2);
    return out;
}

}  // namespace

Tensor self_attention_4_40(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                           const LayerInputs& inputs) {
    auto [q, k, v, whole] = projections_4_40(run, family, layer, hidden);
    const bool is_flash = run.plan.load.attention == AttentionImplementation::flash_attention_2;
    const RotaryModules modules = family.rotary_modules(run.stack);
    const bool tables_by_position = modules.by_position;
    if (is_flash && (tables_by_position || family.flash_reads_last_position)) read_last_position(inputs.position_ids);
    const Rotary tables = modules.decoder ? inputs.rotary : rotary_4_40(family, layer, v, inputs, is_flash ? 1 : 0);
    rotate(tables_by_position, q, k, tables, inputs.position_ids);
    if (inputs.cache) inputs.cache->keep(layer, k, v);
    const Size groups = q.size(1) / k.size(1);
    if (!is_flash || family.flash_repeats_heads) {
        k = repeat_kv(k, groups);
        v = repeat_kv(v, groups);
    }
    const Tensor& mask = inputs.masks.full;
    const bool is_eager = run.plan.load.attention == AttentionImplementation::eager;
    Tensor weights;
    Tensor out = is_flash   ? flash(run, q, k, v, family.flash_knows_positions ? inputs.position_ids : Tensor())
                   : is_eager ? eager(run, family, q, k, v, mask, weights)
                            : sdpa(run, q, k, v, mask);
    out = reshape(out, {out.size(0), out.size(1), -1});
    return forward(layer.o, out);
}

}  // namespace vramfit::model
