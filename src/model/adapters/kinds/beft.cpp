// peft 0.21.2 tuners/beft/layer.py Linear.
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"

namespace vramfit::model {

using namespace engine;

void create_beft(const NewAdapter& made) { made.add("beft_bias.default", {1, made.layer.out}); }

Tensor beft(const Linear& layer, const Tensor& x) {
    const Tensor bias = reshape((*layer.other)[0], {-1});
    const Tensor result = base_layer(layer, x);
    return to(add(result, bias), result.dtype());
}

}  // namespace vramfit::model
