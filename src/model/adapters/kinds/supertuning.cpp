// peft 0.21.2 tuners/supertuning/layer.py Linear.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/topk_row.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"
#include "spec/adapters/read.hpp"

namespace vramfit::model {

using namespace engine;

// update_layer: the entries with the largest (or smallest) values are chosen on the device, and their changes are
// trained; a LoRA beside them is made there too, in float32.
void create_supertuning(const NewAdapter& made) {
    Session& session = made.run.session;
    const AdapterOptions& options = made.plan().options;
    const Tensor scores = reshape(abs(detach(made.layer.weight)), {-1});
    Picked chosen = topk_row(scores, supertuned_entries(options, made.target.module));
    made.add_buffer(to(chosen.indices, DType::int32));
    chosen.indices.reset();
    const Tensor values = zeros(session, chosen.values.sizes(), DType::float32);
    Tensor a, b;
    if (options.supra_r > 0) {
        a = empty(session, {options.supra_r, made.layer.in}, DType::float32);
        b = empty(session, {made.layer.out, options.supra_r}, DType::float32);
    }
    const auto move = [&made](std::string_view name, Tensor t, int module) {
        made.adapter.parameters.push_back({name, to(t, made.dtype), module});
    };
    move("supertuning_values.default", values, 0);
    if (options.supra_r == 0) return;
    move("supertuning_lora_A.default.weight", std::move(a), 1);
    move("supertuning_lora_B.default.weight", std::move(b), 2);
}

Tensor supertuning(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor weight = reshape(layer.weight, {-1});
    const Tensor indices = to(adapter.buffers[0], DType::int64);
    const Tensor values = to(adapter[0], weight.dtype());
    const Tensor changed = scatter_add(weight, indices, values);
    Tensor result = functional_linear(x, view(changed, layer.weight.sizes()), layer.bias);
    if (adapter.parameters.size() == 1) return result;
    const Tensor dropped = to(dropout(x, adapter.dropout), adapter[1].dtype());
    const Tensor output = [&] {
        const Tensor inner = functional_linear(dropped, adapter[1]);
        return functional_linear(inner, adapter[2]);
    }();
    const Tensor scaled = to(mul(output, 1.0), result.dtype());
    return add(result, scaled);
}

}  // namespace vramfit::model
