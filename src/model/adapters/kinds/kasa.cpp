// peft 0.21.2 tuners/lora/variants.py KasaLinearVariant.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

void create_kasa(const NewAdapter& made) {
    made.add("lora_A.default.weight", {made.rank, made.layer.in}, 1);
    made.add("lora_B.default.weight", {made.layer.out, made.rank}, 2);
    made.add("lora_diag.default", {made.rank});
}

Tensor kasa(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    Tensor result = base_layer(layer, x);
    const DType dtype = result.dtype();
    const Tensor cast = to(x, adapter[0].dtype());
    {
        const Tensor inner = functional_linear(dropout(cast, adapter.dropout), adapter[0]);
        result = add(result, [&] {
            const Tensor output = [&] {
                const Tensor scaled = mul(inner, adapter[2]);
                return functional_linear(scaled, adapter[1]);
            }();
            return mul(output, 1.0);
        }());
    }
    return to(result, dtype);
}

}  // namespace vramfit::model
