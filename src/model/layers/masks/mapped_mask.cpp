// transformers 4.53 to 4.57 masking_utils.py: sdpa_mask_recent_torch and sdpa_mask_older_torch.
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/masks/masks.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Evaluates a mask function on tensors of one dimension; what it makes lives until the mask is done.
class Mapping {
  public:
    explicit Mapping(const MaskRequest& q) : q_(q) {}

    /// and_masks: starts from q_idx.new_ones(()).
    Tensor start() {
        const Tensor row = empty(q_.session(), {q_.length()}, DType::boolean, Op::ones);
        return expand(unsqueeze(row, 1), {q_.length(), q_.length()});
    }
    Tensor both(const Tensor& a, const Tensor& b) { return pointwise_result(a, b, DType::boolean, Op::bitwise_and); }
    Tensor causal() { return square(Op::le); }
    Tensor inside_window() {
        const Tensor oldest = empty(q_.session(), {q_.length()}, DType::int64, Op::sub);
        return square(Op::gt);
    }
    /// rows[batch_idx, i]: both indices are broadcast and copied.
    Tensor picked(const Tensor& rows) {
        const Dims sizes{q_.batch(), q_.length()};
        const Tensor batch = empty(q_.session(), sizes, DType::int64, Op::clone);
        const Tensor place = empty(q_.session(), sizes, DType::int64, Op::clone);
        return empty(q_.session(), sizes, rows.dtype(), Op::index);
    }
    Tensor same_row(const Tensor& packed) {
        const Tensor queries = picked(packed);
        const Tensor keys = picked(packed);
        return empty(q_.session(), {q_.batch(), q_.length(), q_.length()}, DType::boolean, Op::eq);
    }
    /// sliding_window_overlay and causal_mask_function.
    Tensor base() {
        if (!q_.window) return causal();
        Tensor mask = start();
        mask = both(mask, inside_window());
        return both(mask, causal());
    }

  private:
    Tensor square(Op op) const { return empty(q_.session(), {q_.length(), q_.length()}, DType::boolean, op); }

    const MaskRequest& q_;
};

Tensor four_dimensions(const MaskRequest& q, const Tensor& square) {
    return expand(unsqueeze(unsqueeze(square, 0), 0), {q.batch(), 1, q.length(), q.length()});
}

/// sdpa_mask_older_torch: maps over queries and keys only.
Tensor older_mask(const MaskRequest& q, Mapping& mapping, const Tensor& padding) {
    Tensor mask = four_dimensions(q, mapping.base());
    if (padding.defined()) mask = mul(mask, unsqueeze(unsqueeze(padding, 1), 1));
    return mask;
}

}  // namespace

Tensor mapped_mask(const MaskRequest& q, const Tensor& padding, const Tensor& packed) {
    Mapping mapping(q);
    Session& session = q.session();
    const Tensor keys = arange(session, q.length());
    if (!q.run.stack.masks_index_by_tensors()) return older_mask(q, mapping, padding);
    const Tensor batch = arange(session, q.batch());
    const Tensor head = arange(session, 1);
    if (!padding.defined() && !packed.defined()) return four_dimensions(q, mapping.base());
    Tensor mask = mapping.start();
    mask = mapping.both(mask, mapping.base());
    const Tensor rows = padding.defined() ? mapping.picked(padding) : mapping.same_row(packed);
    return empty(session, {q.batch(), 1, q.length(), q.length()}, DType::boolean, Op::bitwise_and);
}

}  // namespace vramfit::model
