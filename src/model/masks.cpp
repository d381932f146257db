// transformers 5.17 masking_utils.py.
#include "model/masks.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"

namespace vramfit::model {

using namespace engine;

Masks make_masks(const Run& run, const Network&, const Tensor&, const Batch& batch, const Tensor&) {
    Masks masks;
    if (!batch.attention_mask.defined()) return masks;
    // _preprocess_mask_arguments: to bool; _ignore_causal_mask_sdpa: fast_all reads the answer.
    const Tensor mask = to(batch.attention_mask, DType::boolean);
    const Tensor count = sum_all(mask);
    const Tensor all = compare(Op::eq, count);
    (void)run;
    return masks;
}

}  // namespace vramfit::model
