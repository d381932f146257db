// transformers 4.40.2 models/{llama,gemma,mistral,qwen2}/modeling_*.py: the three attention classes.
#include "model/attention.hpp"

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
#include "model/decoder_4_40.hpp"
#include "model/modules.hpp"
#include "model/rotary.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor heads_first(const Run& run, const Tensor& t) {
    return transpose(view(t, {t.size(0), t.size(1), -1, run.spec.head_dim}), 1, 2);
}

/// apply_rotary_pos_emb; mistral's and qwen2's pick the rows of the positions first.
void rotate(const Family& family, Tensor& q, Tensor& k, const Rotary& tables, const Tensor& position_ids) {
    if (family.old_rotary != OldRotary::tables) {
        apply_rotary(q, k, tables);
        return;
    }
    Dims sizes = position_ids.sizes();
    sizes.push(tables.cos.size(1));
    const Tensor cosine = empty(q.session(), sizes, tables.cos.dtype(), Op::index);
    const Tensor sine = empty(q.session(), sizes, tables.sin.dtype(), Op::index);
    apply_rotary(q, k, {cosine, sine});
}

/// attention_mask[:, :, :, : key_states.shape[-2]].
Tensor for_keys(const Tensor& mask, const Tensor& k) { return mask.defined() ? slice(mask, -1, 0, k.size(-2)) : mask; }

/// LlamaAttention.forward from the scores on; `weights` stay until it returns.
Tensor eager(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, Tensor& weights) {
    weights = matmul(q, transpose(k, 2, 3));
    weights = div(weights, 1.0);
    if (mask.defined()) weights = add(weights, for_keys(mask, k));
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
    arguments.dropout = run.spec.attention_dropout;
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
Tensor flash(const Run& run, Tensor& q, Tensor& k, Tensor& v) {
    if (q.dtype() == DType::float32) {
        const DType dtype = run.session.autocast.enabled ? run.session.autocast.dtype : run.plan.load.dtype;
        q = to(q, dtype);
        k = to(k, dtype);
        v = to(v, dtype);
    }
    return flash_attn_func(transpose(q, 1, 2), transpose(k, 1, 2), transpose(v, 1, 2), run.spec.attention_dropout);
}

}  // namespace

Tensor self_attention_4_40(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                           const LayerInputs& inputs) {
    Tensor q = forward(layer.q, hidden);
    Tensor k = forward(layer.k, hidden);
    Tensor v = forward(layer.v, hidden);
    q = heads_first(run, q);
    k = heads_first(run, k);
    v = heads_first(run, v);
    const bool is_flash = run.plan.load.attention == AttentionImplementation::flash_attention_2;
    const bool tables_by_position = family.old_rotary == OldRotary::tables;
    if (is_flash && tables_by_position) read_last_position(inputs.position_ids);
    const Rotary tables = rotary_4_40(family, layer, v, inputs, is_flash ? 1 : 0);
    rotate(family, q, k, tables, inputs.position_ids);
    if (inputs.cache) inputs.cache->keep(layer, k, v);
    const Size groups = q.size(1) / k.size(1);
    if (!is_flash || tables_by_position) {  // llama's and gemma's leave the groups to the kernel
        k = repeat_kv(k, groups);
        v = repeat_kv(v, groups);
    }
    const Tensor& mask = inputs.masks.full;
    const bool is_eager = run.plan.load.attention == AttentionImplementation::eager;
    Tensor weights;
    Tensor out = is_flash   ? flash(run, q, k, v)
                 : is_eager ? eager(run, q, k, v, mask, weights)
                            : sdpa(run, q, k, v, mask);
    out = reshape(out, {out.size(0), out.size(1), -1});
    return forward(layer.o, out);
}

}  // namespace vramfit::model
