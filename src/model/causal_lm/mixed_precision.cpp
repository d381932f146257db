// accelerate 0.29 to 1.15 accelerator.py prepare_model, utils/operations.py ConvertOutputsToFp32.
#include "model/causal_lm/mixed_precision.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "model/parallel/zero_plan.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// convert_to_fp32: a new output, made while the old one is still held.
Output to_float32(const Stack& stack, const Output& output) {
    Output converted = output;
    for (Tensor* t : {&converted.loss, &converted.logits})
        if (t->defined()) *t = to(*t, DType::float32);
    for (Tensor& logits : converted.router_logits) logits = to(logits, DType::float32);
    for (Tensor& other : converted.others)
        if (other.defined()) other = to(other, DType::float32);
    if (output.past_key_values && stack.cache_is_returned_as_tuples()) {
        converted.past_key_values = std::make_shared<KvCache>(*output.past_key_values);
        for (KvCache::Layer& layer : converted.past_key_values->layers())
            for (Tensor* t : {&layer.keys, &layer.values}) *t = to(*t, DType::float32);
    }
    return converted;
}

}  // namespace

std::optional<DType> mixed_dtype(const TrainingPlan& training) {
    if (training.bf16) return DType::bfloat16;
    if (training.fp16) return DType::float16;
    return std::nullopt;
}

std::optional<DType> prepared_dtype(const TrainPlan& plan) {
    const bool casts_itself =
        plan.distributed && (plan.distributed->as<Fsdp2Plan>() || plan.distributed->as<ZeroPlan>());
    return casts_itself ? std::nullopt : mixed_dtype(plan.training);
}

DType dtype_in_forward(const Run& run) {
    const TrainPlan& plan = run.plan;
    const bool is_fsdp = plan.distributed && (plan.distributed->as<Fsdp1Plan>() || plan.distributed->as<Fsdp2Plan>());
    std::optional<DType> dtype;
    if (is_fsdp && !plan.load.quantization) dtype = mixed_dtype(plan.training);
    if (zero_of(plan)) dtype = zero_cast(run);
    return dtype.value_or(plan.load.dtype);
}

Output prepared_forward(const Run& run, const Network& network, const Batch& batch, const Tensor& items,
                        const Place& place) {
    const TrainingPlan& training = run.plan.training;
    // accelerate's prepare_model has no autocast under DeepSpeed, which casts the parameters.
    const std::optional<DType> dtype = zero_of(run.plan) ? std::nullopt : mixed_dtype(training);
    if (!dtype) return causal_lm(run, network, batch, items, place);
    Output output;
    {
        const AutocastScope autocast(run.session, true, *dtype);
        output = causal_lm(run, network, batch, items, place);
    }
    return to_float32(run.stack, output);
}

}  // namespace vramfit::model
