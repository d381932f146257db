// vllm 0.31.0 v1/worker/gpu_worker.py, v1/core/kv_cache_utils.py; trl 1.16 generation/vllm_generation.py.
#include "predict/ends_vllm.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit {

namespace {

constexpr std::int64_t kHalf = 2;  // bytes: config/model.py _resolve_auto_dtype, float32 is loaded in 16 bits too

std::int64_t queries(const ModelSpec& model) { return model.num_attention_heads * model.head_dim; }
std::int64_t keys_and_values(const ModelSpec& model) { return 2 * model.num_key_value_heads * model.head_dim; }

/// _check_enough_kv_cache_memory: one request of vllm_max_model_length. Without it the length is config.json's or the
/// tokenizer's, and layers with windows need less: not asked then.
Bytes least_cache(const ModelSpec& model, const TrainPlan& plan) {
    const auto& context = plan.preference.grpo.vllm_context;
    if (!context || model.sliding_window) return {};
    return Bytes{*context * model.num_hidden_layers * keys_and_values(model) * kHalf};
}

/// Of trl's max_num_batched_tokens: all that a layer makes, and a row of logits, sorted, for each sequence.
Bytes most_activations(const ModelSpec& model, const TrainPlan& plan) {
    constexpr std::int64_t kTokens = 4096;
    constexpr std::int64_t kOfLogit = 32;  // in 16 and 32 bits, log-probabilities, sorted ones and their places
    const std::int64_t of_token =
        4 * model.hidden_size + 2 * queries(model) + keys_and_values(model) + 3 * model.intermediate_size;
    const std::int64_t sequences = plan.training.per_device_train_batch_size *
                                   plan.preference.grpo.generation_steps(plan.training.gradient_accumulation_steps);
    return Bytes{kTokens * of_token * kHalf + std::min(sequences, kTokens) * model.vocab_size * kOfLogit};
}

}  // namespace

void check_vllm_starts(const ModelSpec& model, const TrainPlan& plan, const Device& device) {
    if (device.engine.count == 0) return;
    const Bytes weights{total_parameters(model) * kHalf}, cache = least_cache(model, plan);
    const Bytes needed = weights + cache;
    if (needed < device.engine) return;
    const std::string what = cache.count == 0
                                 ? std::string()
                                 : fmt::format(" and {} for the keys and values of one request of {} tokens",
                                               text_of(cache), *plan.preference.grpo.vllm_context);
    const double share = static_cast<double>(needed.count) / static_cast<double>(device.total.count);
    throw Error(
        ErrorKind::invalid, "training.vllm_gpu_memory_utilization",
        fmt::format("vLLM stops: its share of the GPU, {}, does not hold its weights of {} in 16 bits{}",
                    text_of(device.engine), text_of(weights), what),
        share < 1 ? fmt::format("above {:.2f}, or a larger GPU", std::ceil(share * 100) / 100) : "a larger GPU");
}

void widen_by_activations(const ModelSpec& model, const TrainPlan& plan, Assumptions& all) {
    for (Assumption& one : all)
        if (one.kind == AssumptionKind::engine) one.least -= std::min(most_activations(model, plan), one.least);
}

}  // namespace vramfit
