// Choice of the attention interface, and sdpa.
#include "model/layers/attention/attention.hpp"

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/view.hpp"
#include "model/parallel/context/context_parallel.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// F.scaled_dot_product_attention, behind the job's repetition of key and value heads where it asks for it.
Tensor functional_sdpa(const Run& run, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                       AttentionArguments arguments) {
    const Size groups = query.size(1) / key.size(1);
    if (!run.plan.load.sdpa_expand_kv || groups == 1)
        return scaled_dot_product_attention(query, key, value, mask, arguments);
    arguments.enable_gqa = false;
    const Tensor keys = repeat_interleave(key, groups, -3);
    const Tensor values = repeat_interleave(value, groups, -3);
    return scaled_dot_product_attention(query, keys, values, mask, arguments);
}

// integrations/sdpa_attention.py pack_gqa: the heads of a group are the rows of a single token's matrix.
bool packs_groups(const Run& run, const Tensor& q) {
    return run.stack.sdpa_packs_groups_of_one_token() && run.session.decide("one token", q.size(2) == 1);
}

}  // namespace

Tensor repeat_kv(const Tensor& t, Size groups) {
    if (groups == 1) return t;
    const Size batch = t.size(0), heads = t.size(1), length = t.size(2), width = t.size(3);
    const Tensor indexed = whole(whole(unsqueeze(whole(whole(t, 0), 1), 2), 3), 4);
    const Tensor repeated = expand(indexed, {batch, heads, groups, length, width});
    return reshape(repeated, {batch, heads * groups, length, width});
}

Tensor for_keys(const Tensor& mask, const Tensor& k) { return mask.defined() ? slice(mask, -1, 0, k.size(-2)) : mask; }

// transformers 4.48 to 5.23 integrations/sdpa_attention.py sdpa_attention_forward.
Attended sdpa_attention(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& given_mask) {
    Tensor query = q, key = k, value = v;
    const Size groups = q.size(1) / k.size(1);
    AttentionArguments arguments;
    arguments.ring = ring_of(run.plan);
    // accelerate 1.15 big_modeling.py _attach_context_parallel_hooks: the mask is taken away.
    const Tensor whole_mask = arguments.ring ? Tensor() : given_mask;
    bool packed = false;
    if (groups > 1) {
        // use_gqa_in_sdpa
        const bool narrow =
            !run.stack.sdpa_groups_only_narrow_heads() || (k.size(-1) == v.size(-1) && k.size(-1) <= 256);
        if (run.stack.sdpa_groups_heads() && !whole_mask.defined() && narrow) {
            arguments.enable_gqa = true;
        } else if (packs_groups(run, q)) {
            query = reshape(query, {q.size(0), k.size(1), groups, q.size(-1)});
            packed = true;
        } else {
            key = repeat_kv(key, groups);
            value = repeat_kv(value, groups);
        }
    }
    const Tensor mask = for_keys(whole_mask, key);
    if (run.stack.sdpa_makes_contiguous())
        for (Tensor* t : {&query, &key, &value}) *t = contiguous(*t);
    arguments.is_causal = q.size(2) > 1 && !mask.defined();
    arguments.dropout = run.attention_dropout();
    arguments.forced = run.plan.load.sdpa_kernel;
    Tensor out = functional_sdpa(run, query, key, value, mask, arguments);
    if (packed) out = reshape(out, q.sizes());
    return {contiguous(transpose(out, 1, 2)), {}};
}

Attended attend(const Run& run, EagerAttention eager, const Tensor& q, const Tensor& k, const Tensor& v,
                const SeenMask& mask, const Tensor& position_ids) {
    switch (run.plan.load.attention) {
        case AttentionImplementation::eager: return eager(run, q, k, v, mask.places);
        case AttentionImplementation::flash_attention_2: return flash_attention_2(run, q, k, v, mask, position_ids);
        case AttentionImplementation::sdpa: break;
    }
    return sdpa_attention(run, q, k, v, mask.places);
}

}  // namespace vramfit::model
