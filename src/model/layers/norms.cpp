// The norms of transformers' models.
#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/ops/layer_norm.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// hidden * rsqrt(variance + epsilon) in float32, then what the family does with it: the variance is alive until then,
/// and goes behind the product.
template <class Last>
Tensor normalized(const Tensor& input, Last last) {
    Tensor variance;
    Tensor hidden = to(input, DType::float32);
    variance = square(hidden);
    variance = mean_last(variance);
    Tensor scale = add(variance, 1e-6);
    scale = rsqrt(scale);
    Tensor product = mul(hidden, scale);
    scale.reset();
    hidden = std::move(product);
    return last(hidden);
}

}  // namespace

// transformers 4.40 to 5.17 models/llama/modeling_llama.py LlamaRMSNorm.forward.
Tensor llama_norm(const Norm& norm, const Tensor& given) {
    return called_module(norm, given, [&norm](const Tensor& input) {
        return normalized(input, [&](const Tensor& hidden) {
            const Tensor cast = to(hidden, input.dtype());
            return mul(norm.weight, cast);
        });
    });
}

namespace {

// _norm, then (1 + weight).
Tensor gemma_normalized(const Norm& norm, const Tensor& input) {
    Tensor output;
    {
        const Tensor x = to(input, DType::float32);
        Tensor variance = square(x);
        variance = mean_last(variance);
        variance = add(variance, 1e-6);
        variance = rsqrt(variance);
        output = mul(x, variance);
    }
    Tensor scaled;
    {
        Tensor one_plus = to(norm.weight, DType::float32);
        one_plus = add(one_plus, 1.0);
        scaled = mul(output, one_plus);
    }
    output = std::move(scaled);
    return to(output, input.dtype());
}

}  // namespace

// transformers 4.40 to 5.17 models/gemma/modeling_gemma.py GemmaRMSNorm.forward.
Tensor gemma_norm(const Norm& norm, const Tensor& given) {
    return called_module(norm, given, [&norm](const Tensor& input) { return gemma_normalized(norm, input); });
}

// transformers 5.17 models/olmo2/modeling_olmo2.py Olmo2RMSNorm.forward, models/gpt_oss/modeling_gpt_oss.py
// GptOssRMSNorm.forward.
Tensor olmo2_norm(const Norm& norm, const Tensor& given) {
    return called_module(norm, given, [&norm](const Tensor& input) {
        return normalized(input, [&](const Tensor& hidden) {
            const Tensor product = mul(norm.weight, hidden);
            return to(product, input.dtype());
        });
    });
}

namespace {

Tensor centred_normalized(const Norm& norm, const Tensor& input) {
    Tensor hidden = to(input, DType::float32);
    Tensor mean = mean_last(hidden);
    Tensor variance, scaled;
    {
        Tensor squared = sub(hidden, mean);
        squared = square(squared);
        variance = mean_last(squared);
    }
    {
        Tensor centred = sub(hidden, mean);
        Tensor scale = add(variance, 1e-5);
        scale = rsqrt(scale);
        scaled = mul(centred, scale);
        centred.reset();
    }
    hidden = std::move(scaled);
    {
        // q_norm and k_norm have weights [heads, D].
        const bool by_head = input.dim() == 4;
        const Tensor weight =
            to(by_head ? view(norm.weight, {input.size(2), input.size(3)}) : norm.weight, DType::float32);
        scaled = mul(weight, hidden);
    }
    hidden = std::move(scaled);
    Tensor out = to(hidden, input.dtype());
    hidden.reset();  // local variables go in the order of their names
    mean.reset();
    return out;
}

}  // namespace

// transformers 5.17 models/cohere/modeling_cohere.py CohereLayerNorm.forward; models/cohere2/modeling_cohere2.py.
Tensor centred_norm(const Norm& norm, const Tensor& given) {
    return called_module(norm, given, [&norm](const Tensor& input) { return centred_normalized(norm, input); });
}

Tensor layer_norm(const Norm& norm, const Tensor& given) {
    return called_module(norm, given,
                         [&norm](const Tensor& input) { return engine::layer_norm(input, norm.weight, norm.bias); });
}

}  // namespace vramfit::model
