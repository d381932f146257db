// peft 0.21.2 tuners/vera/layer.py Linear and model.py _init_vera_A_vera_B.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

// The projections are as large as the largest layer needs.
void create_vera(const NewAdapter& made) {
    made.add("vera_lambda_b.default", {made.layer.out});
    made.add("vera_lambda_d.default", {made.rank});
    const auto [in, out] = made.largest_sides();
    made.share({{made.rank, in}, {out, made.rank}});
}

Tensor vera(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    Tensor result = base_layer_cloned(layer, x);
    const DType dtype = result.dtype();
    const Tensor a = slice((*adapter.shared)[0], 1, 0, layer.in);
    const Tensor b = slice((*adapter.shared)[1], 0, 0, layer.out);
    const Tensor input = to(x, adapter[1].dtype());
    Tensor t = dropout(input, adapter.dropout);
    t = functional_linear(t, a);
    t = mul(adapter[1], t);
    t = functional_linear(t, b);
    t = mul(adapter[0], t);
    result = add(result, t);
    t.reset();
    result = to(result, dtype);
    return to(result, x.dtype());
}

}  // namespace vramfit::model
