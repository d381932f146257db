// peft 0.21.2 tuners/unilora/layer.py Linear, model.py _assign_unilora_indices_and_scales.
#include <array>

#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

// One vector for all layers; each has its places in it. _move_adapter_to_device_of_base_layer moves the vector, then
// the places.
void create_unilora(const NewAdapter& made) {
    made.share({{made.plan().options.theta_d_length}});
    made.adapter.shared_name = "unilora_theta_d.default";
    made.add_buffer(moved_from_host(made.run.session, {made.rank, made.layer.in}, DType::int64));
    made.add_buffer(moved_from_host(made.run.session, {made.layer.out, made.rank}, DType::int64));
}

namespace {

DType weight_dtype(const Linear& layer) {
    if (layer.in_8bit) return DType::int8;
    return layer.quantized ? layer.quantized->packed.dtype() : layer.weight.dtype();
}

}  // namespace

// Once all layers are there the host deals out other places, and each layer gets scales of its entries, in the dtype
// of its weight.
void finish_unilora(const std::vector<NewAdapter>& all) {
    for (const NewAdapter& made : all) made.adapter.buffers.assign(2, {});
    for (const NewAdapter& made : all) {
        Session& session = made.run.session;
        const std::array<Dims, 2> sizes{Dims{made.rank, made.layer.in}, Dims{made.layer.out, made.rank}};
        const DType dtype = weight_dtype(made.layer);
        for (const Dims& size : sizes) made.add_buffer(moved_from_host(session, size, dtype));
        for (std::size_t i = 0; i < 2; ++i) {
            made.adapter.buffers[i] = moved_from_host(session, sizes[i], DType::int64);
            label(made.adapter.buffers[i], Category::adapters);
        }
    }
}

Tensor unilora(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor& vector = adapter.shared->front();
    Tensor result = base_layer(layer, x);
    const Tensor a = mul(index_rows(vector, adapter.buffers[0]), adapter.buffers[2]);
    const Tensor b = mul(index_rows(vector, adapter.buffers[1]), adapter.buffers[3]);
    const Tensor input = to(x, vector.dtype());
    result = add(result, [&] {
        const Tensor inner = functional_linear(dropout(input, adapter.dropout), a);
        return functional_linear(inner, b);
    }());
    return to(result, x.dtype());
}

}  // namespace vramfit::model
