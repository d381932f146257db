// transformers 4.53 to 5.17 masking_utils.py: create_causal_mask and create_sliding_window_causal_mask.
#include "model/layers/masks/masks.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/family.hpp"
#include "model/parallel/context/context_parallel.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

using Request = MaskRequest;

/// find_packed_sequence_indices: newer releases read that positions never jump, so nothing is packed.
Tensor packed_sequences(const Request& q) {
    const Tensor positions = expand(q.position_ids, {q.batch(), q.length()});
    Tensor first = pointwise_result(slice(positions, 1, 0, 1), DType::int64, Op::sub);
    Tensor difference;
    {
        const Tensor parts[2] = {first, positions};
        const Tensor joined = cat(parts, 1);
        difference = sub(slice(joined, 1, 1, q.length() + 1), slice(joined, 1, 0, q.length()));
    }
    Tensor packed;
    {
        const Tensor jumps = compare(Op::ne, difference);
        packed = empty(q.session(), jumps.sizes(), DType::int64, Op::cumsum);
        const Tensor numbers = to(jumps, DType::int64);
        // ATen/native/cuda/ScanUtils.cuh scan_dim: cub where all elements are in one row.
        if (q.batch() == 1) use_scratch(q.session(), scan_scratch(q.session(), q.length()), Op::scan);
    }
    if (!q.run.stack.masks_look_for_packed_rows()) return packed;
    Tensor all;
    {
        const Tensor none = compare(Op::eq, slice(packed, 1, q.length() - 1, q.length()));
        all = reduce(none, 3, false, DType::boolean, Op::all);
    }
    q.session().streams.host_waits(0);
    for (Tensor* local : {&all, &first, &difference, &packed}) local->reset();
    return {};
}

/// The host reads mask.all(), or fast_all: tensor.sum() == tensor.numel().
void read_all(const Tensor& mask) {
    Streams& streams = mask.session().streams;
    if (!mask.session().stack.masks_are_read_by_sum()) {
        const Tensor all = reduce(mask, (1u << mask.dim()) - 1, false, DType::boolean, Op::all);
        streams.host_waits(0);
        return;
    }
    Tensor equal;
    {
        const Tensor count = sum_all(mask);
        equal = compare(Op::eq, count);
    }
    streams.host_waits(0);
}

/// _ignore_causal_mask_sdpa: true where the kernel's causal flag is enough.
bool causal_flag_is_enough(const Request& q, const Tensor& padding) {
    Tensor held = padding;  // padding_mask[:, mask_indices]
    Tensor places;
    if (padding.defined() && padding.size(1) > q.keys()) {
        places = add(arange(q.session(), q.keys()), 0);
        held = empty(q.session(), {q.batch(), q.keys()}, DType::boolean, Op::index);
    }
    if (q.window && q.keys() >= *q.window) return false;
    if (!padding.defined()) return true;
    const bool is_aligned = q.starts() || q.session().decide("one query", q.length() == 1);
    if (is_aligned) read_all(held);
    if (is_aligned && !q.has_zeros) return true;
    // The case of an empty static cache asks the same of the first q_length places.
    if (q.run.stack.masks_are_read_by_sum() && q.starts()) read_all(slice(padding, 1, 0, q.length()));
    return false;
}

/// The index tensors of sdpa_mask, expanded to four dimensions; they go from the last one on.
struct Indices {
    Tensor key, query, head, batch;
};

Indices make_indices(const Request& q) {
    const auto range = [&](Size n) { return arange(q.session(), n); };
    const Tensor batch = range(q.batch());
    const Tensor head = range(1);
    const bool offset = q.run.stack.positions_are_offset();
    const Tensor query = offset ? add(range(q.length()), 0) : select(q.cache_position, 0);
    const Tensor key = add(range(q.keys()), 0);
    const auto four = [](const Tensor& t, int at) {
        Dims sizes{1, 1, 1, 1};
        sizes[at] = t.size(0);
        return view(t, sizes);
    };
    return {four(key, 3), four(query, 2), four(head, 1), four(batch, 0)};
}

using MaskFunction = Tensor (*)(const Request&, const Indices&);

/// and_masks of two functions: starts from a single true.
template <MaskFunction first, MaskFunction second>
Tensor both(const Request& q, const Indices& at) {
    Tensor result = empty(q.session(), {}, DType::boolean, Op::ones);
    for (const MaskFunction function : {first, second}) {
        Tensor joined;
        {
            const Tensor more = function(q, at);
            joined = compare(Op::bitwise_and, result, more);
        }
        result = std::move(joined);
    }
    return result;
}

Tensor causal(const Request&, const Indices& at) { return compare(Op::le, at.key, at.query); }

/// sliding_window_overlay.
Tensor inside_window(const Request&, const Indices& at) {
    const Tensor oldest = pointwise_result(at.query, DType::int64, Op::sub);
    return compare(Op::gt, at.key, oldest);
}

/// padding_mask_function: padding_mask[batch_idx, kv_idx]; index tensors are broadcast and made contiguous.
Tensor not_padded(const Request& q, const Indices& at) {
    const Dims sizes{q.batch(), 1, 1, q.keys()};
    std::vector<Tensor> indices;
    for (const Tensor& index : {at.batch, at.key}) indices.push_back(contiguous(expand(index, sizes)));
    return empty(q.session(), sizes, DType::boolean, Op::index);
}

constexpr MaskFunction sliding = both<inside_window, causal>;

/// sdpa_mask, from "Potentially add the padding 2D mask" on: bool, [B, 1, S, S].
Tensor boolean_mask(const Request& q, bool padded) {
    const Indices at = make_indices(q);
    Tensor mask;
    if (padded)
        mask = q.window ? both<both<inside_window, causal>, not_padded>(q, at) : both<causal, not_padded>(q, at);
    else
        mask = q.window ? sliding(q, at) : causal(q, at);
    return expand(mask, {q.batch(), 1, q.length(), q.keys()});
}

/// eager_mask: 0 where the bool mask is true, else the smallest number.
Tensor float_mask(const Request& q, const Tensor& mask) {
    const Tensor zero = empty(q.session(), {}, q.embedded.dtype(), Op::to_copy);
    q.session().streams.host_waits(0);
    const Tensor smallest = empty(q.session(), {}, q.embedded.dtype(), Op::scalar_tensor);
    return where(mask, zero, smallest);
}

/// flash_attention_mask: the host reads mask.all(), and there is no mask without padding. `seen`: tokens of the mask.
Tensor flash_mask(const Request& q, const Tensor& padding, Size& seen) {
    const Size keys = q.keys();
    Tensor mask = slice(padding, 1, padding.size(1) - keys, padding.size(1));
    {
        const Tensor all = reduce(mask, 3, false, DType::boolean, Op::all);
        q.session().streams.host_waits(0);
    }
    if (!q.has_zeros) return {};
    seen = q.missing->seen(q.batch(), keys, q.total());
    const bool is_whole = !q.missing->is_unknown && q.session().decide("no padding is seen", seen == q.batch() * keys);
    return is_whole ? Tensor() : mask;
}

/// create_causal_mask or create_sliding_window_causal_mask.
Tensor create_mask(const Request& q, Size& seen) {
    Tensor padding, packed;
    if (q.padding.defined())
        padding = to(q.padding, DType::boolean);
    else if (q.position_ids.defined())
        packed = packed_sequences(q);
    const auto boolean = [&] {
        return q.run.stack.masks_are_mapped() ? mapped_mask(q, padding, packed) : boolean_mask(q, padding.defined());
    };
    if (q.run.plan.load.attention == AttentionImplementation::eager) {
        Tensor mask = boolean();
        mask = float_mask(q, mask);
        return mask;
    }
    if (q.run.plan.load.attention == AttentionImplementation::flash_attention_2)
        return padding.defined() ? flash_mask(q, padding, seen) : Tensor();
    if (!packed.defined() && causal_flag_is_enough(q, padding)) return {};
    return boolean();
}

}  // namespace

Masks make_masks(const Run& run, const Tensor& embedded, const Batch& batch, const LayerInputs& inputs) {
    const GradMode no_grad(run.session, false);
    const Family& family = family_of(run.spec.model_type);
    const bool slides = run.spec.sliding_window.has_value();
    MaskRequest request{run,
                        embedded,
                        batch.attention_mask,
                        {},
                        inputs.position_ids,
                        {},
                        batch.padded ? *batch.padded : sees_padding(run.plan),
                        &batch.missing};
    if (!inputs.cache && !family.masks_without_positions) request.position_ids = inputs.position_ids;
    Masks masks;
    if (!slides || !family.one_mask) masks.full = create_mask(request, masks.seen_full);
    request.window = run.spec.sliding_window;
    if (slides) masks.sliding = create_mask(request, masks.seen_sliding);
    return masks;
}

// create_causal_mask takes the sizes of the first layer that does not slide, or of the first one.
Tensor mask_with_cache(const Run& run, const Batch& batch, const KvCachePointer& cache, std::optional<Size> window) {
    MaskRequest request{run, batch.input_ids, batch.attention_mask,         {},
                        {},  window,          batch.padded.value_or(false), &batch.missing};
    if (cache) {
        const std::vector<KvCache::Layer>& layers = cache->layers();
        request.cached = cache->tokens();
        const bool all = std::all_of(layers.begin(), layers.end(),
                                     [](const KvCache::Layer& layer) { return layer.places.has_value(); });
        if (all) request.slides = layers.front().places;
    }
    Size seen = 0;
    return create_mask(request, seen);
}

}  // namespace vramfit::model
