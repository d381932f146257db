// The attention masks of one forward pass.
#pragma once

#include <algorithm>

#include "model/layers/inputs.hpp"

namespace vramfit::model {

/// create_causal_mask and its relatives, by the version's rules: what they build for this batch.
Masks make_masks(const Run& run, const Tensor& embedded, const Batch& batch, const LayerInputs& inputs);

/// One of them, as a recorded network asks for it that generates; undefined: the kernel's causal flag is enough.
Tensor mask_with_cache(const Run& run, const Batch& batch, const KvCachePointer& cache, std::optional<Size> window);

/// What one call of create_*_mask is asked for.
struct MaskRequest {
    const Run& run;
    const Tensor& embedded;        ///< [B, S, ..]: gives sizes, and the dtype of a mask for eager attention
    const Tensor& padding;         ///< [B, T] int64, or undefined
    Tensor position_ids;           ///< [1, S]; undefined with a cache
    const Tensor& cache_position;  ///< [1, S]
    std::optional<Size> window;
    bool has_zeros = false;            ///< of padding
    const Missing* missing = nullptr;  ///< of rows that are generated
    std::optional<Size> slides = {};   ///< the window of the cache whose sizes count, where the mask has none
    Size cached = 0;                   ///< tokens that a cache has seen, where there is no padding to say it

    engine::Session& session() const { return run.session; }
    Size batch() const { return embedded.size(0); }
    Size length() const { return embedded.size(1); }
    /// All tokens, with those that a cache has seen.
    Size total() const { return padding.defined() ? padding.size(1) : length() + cached; }
    bool starts() const { return session().decide("nothing cached", total() == length()); }
    /// cache_utils.py DynamicSlidingWindowLayer.get_mask_sizes: places that are seen, of a layer that slides those that
    /// its cache holds.
    Size keys() const {
        const std::optional<Size>& most = window ? window : slides;
        if (!most || starts()) return total();
        return std::min<Size>(total(), *most - 1 + length());
    }
};

/// The bool mask [B, 1, S, S] by torch.vmap over the positions. padding -- [B, S] bool, packed -- [B, S] int64; either
/// may be undefined.
Tensor mapped_mask(const MaskRequest& request, const Tensor& padding, const Tensor& packed);

}  // namespace vramfit::model
