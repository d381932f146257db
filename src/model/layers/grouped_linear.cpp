// transformers 5.17 integrations/moe.py _grouped_linear and _grouped_mm.
#include "model/layers/grouped_linear.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/grouped_mm.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/view.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// _grouped_mm: torch's operator from capability 8.0 on (_can_use_grouped_mm); neither casts under autocast.
Tensor grouped_product(const Tensor& x, const Tensor& weight, const Tensor& offs) {
    const Tensor input = to(x, weight.dtype());
    const bool on_card = x.session().device.capability.major >= 8;
    return on_card ? grouped_mm(input, weight, offs) : grouped_mm_fallback(input, weight, offs);
}

}  // namespace

Tensor grouped_linear(const Tensor& x, const Tensor& weight, const Tensor& offs, const Tensor& bias, bool transposed) {
    Tensor out = grouped_product(x, transposed ? weight : transpose(weight, -2, -1), offs);
    if (bias.defined()) add_in_place(out, bias);
    return out;
}

Tensor biases_of(const ExpertWeights& weights, int bias, const Tensor& expert_ids) {
    return bias >= 0 ? index_rows((*weights.module)[static_cast<std::size_t>(bias)], expert_ids) : Tensor();
}

}  // namespace vramfit::model
