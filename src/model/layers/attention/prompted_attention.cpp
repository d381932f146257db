// peft 0.21.2 tuners/adaption_prompt/layer.py AdaptedAttention and AdaptedAttentionGPT, utils.py.
#include "model/layers/attention/prompted_attention.hpp"

#include <cmath>
#include <vector>

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/rotary.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Of one row for all rows: [1, L, heads * D] to [B, heads, L, D].
Tensor for_rows(const Run& run, const Tensor& t, const Size& rows) {
    const Tensor heads = view(t, {1, t.size(1), -1, run.spec.head_dim});
    return transpose(repeat_along(heads, 0, rows), 1, 2);
}

Tensor heads_of(const Run& run, const Tensor& t) {
    return transpose(view(t, {t.size(0), t.size(1), -1, run.spec.head_dim}), 1, 2);
}

/// llama_compute_query_states: the values are computed too, and dropped.
Tensor query_states(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const Rotary& rotary) {
    const Tensor query = heads_of(run, forward(layer.q, hidden));
    const Tensor value = heads_of(run, forward(layer.v, hidden));
    return turned_queries(query, rotary);
}

/// gpt2_compute_query_states.
Tensor query_states_of_gpt2(const Run& run, const DecoderLayer& layer, const Tensor& hidden) {
    const std::vector<Tensor> parts = chunk(forward(layer.qkv, hidden), 3, 2);
    return heads_of(run, parts[0]);
}

}  // namespace

Tensor with_adaption_prompt(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const LayerInputs& inputs,
                            Tensor output) {
    const Tensor &prompt = layer.attention_parameters[0], &gate = layer.attention_parameters[1];
    const bool is_gpt2 = !layer.qkv.name.empty();
    const Tensor held = is_gpt2 ? output : Tensor();  // attn_outputs
    const Size rows = output.size(0);
    std::vector<Tensor> parts;
    if (is_gpt2)
        parts = chunk(forward(layer.qkv, prompt), 3, 2);
    else
        parts = {Tensor(), forward(layer.k, prompt), forward(layer.v, prompt)};
    Tensor keys = for_rows(run, parts[1], rows), values = for_rows(run, parts[2], rows);
    if (!is_gpt2) {
        const std::int64_t groups = run.spec.hidden_size / (run.spec.num_key_value_heads * run.spec.head_dim);
        keys = repeat_interleave(keys, groups, 1);
        values = repeat_interleave(values, groups, 1);
    }
    const Tensor query =
        is_gpt2 ? query_states_of_gpt2(run, layer, hidden) : query_states(run, layer, hidden, inputs.rotary);
    Tensor scores = [&] {
        const Tensor products = matmul(query, to(transpose(keys, 2, 3), query.dtype()));
        return div(products, std::sqrt(static_cast<double>(run.spec.head_dim)));
    }();
    scores = mul(gate, to(softmax(scores, true), query.dtype()));
    Tensor added = matmul(scores, values);
    added = reshape(transpose(added, 1, 2), {output.size(0), output.size(1), -1});
    if (!is_gpt2) added = forward(layer.o, added);
    output = add(output, added);
    return to(output, query.dtype());
}

}  // namespace vramfit::model
