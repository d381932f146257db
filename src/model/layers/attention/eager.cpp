// transformers 5.17 models/llama/modeling_llama.py and models/gemma2/modeling_gemma2.py eager_attention_forward.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/attention/attention.hpp"

namespace vramfit::model {

using namespace engine;

Attended eager_attention(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    const Size groups = q.size(1) / k.size(1);
    const Tensor keys = repeat_kv(k, groups);
    const Tensor values = repeat_kv(v, groups);
    Tensor weights = matmul(q, transpose(keys, 2, 3));
    weights = mul(weights, 1.0);
    if (run.spec.attn_logit_softcapping) {
        weights = div(weights, *run.spec.attn_logit_softcapping);
        weights = tanh(weights);
        weights = mul(weights, *run.spec.attn_logit_softcapping);
    }
    if (mask.defined()) weights = add(weights, for_keys(mask, keys));
    {
        const Tensor probabilities = softmax(weights, true);
        weights = to(probabilities, q.dtype());
    }
    weights = dropout(weights, run.spec.attention_dropout);
    Tensor out = matmul(weights, values);
    out = contiguous(transpose(out, 1, 2));
    return {out, weights};
}

}  // namespace vramfit::model
