// The attention masks of one forward pass.
#pragma once

#include "model/layers/inputs.hpp"

namespace vramfit::model {

/// create_causal_mask and its relatives, by the version's rules: what they build for this batch.
Masks make_masks(const Run& run, const Tensor& embedded, const Batch& batch, const LayerInputs& inputs);

/// What one call of create_*_mask is asked for.
struct MaskRequest {
    const Run& run;
    const Tensor& embedded;        ///< [B, S, H]: gives sizes and dtype
    const Tensor& padding;         ///< [B, T] int64, or undefined
    Tensor position_ids;           ///< [1, S]; undefined with a cache
    const Tensor& cache_position;  ///< [1, S]
    std::optional<Size> window;
    bool has_zeros = false;            ///< of padding
    const Missing* missing = nullptr;  ///< of rows that are generated

    engine::Session& session() const { return run.session; }
    Size batch() const { return embedded.size(0); }
    Size length() const { return embedded.size(1); }
    /// Places that are seen: with those of a cache.
    Size keys() const { return padding.defined() ? padding.size(1) : length(); }
    bool starts() const { return session().decide("nothing cached", keys() == length()); }
};

/// The bool mask [B, 1, S, S] by torch.vmap over the positions. padding -- [B, S] bool, packed -- [B, S] int64; either
/// may be undefined.
Tensor mapped_mask(const MaskRequest& request, const Tensor& padding, const Tensor& packed);

}  // namespace vramfit::model
