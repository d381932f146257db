// peft 0.21.2 tuners/miss/layer.py MissLinear.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pad.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"

namespace vramfit::model {

using namespace engine;

void create_miss(const NewAdapter& made) { made.add("miss_block.default", {made.rank, made.layer.out}); }

Tensor miss(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    Tensor result = base_layer_cloned(layer, x);
    const Tensor& block = adapter[0];
    const Size r = block.size(0), rest = x.size(-1) % r;
    Tensor input = x;
    if (rest != 0) input = pad_end(input, r - rest);
    input = to(input, block.dtype());
    Tensor t = dropout(input, adapter.dropout);
    Dims sizes = input.sizes();
    sizes[-1] = input.size(-1) / r;
    sizes.push(r);
    t = reshape(t, sizes);
    t = sum_over(t, t.dim() - 2, false);
    t = matmul(t, block);
    result = add(result, t);
    t.reset();
    return to(result, x.dtype());
}

}  // namespace vramfit::model
