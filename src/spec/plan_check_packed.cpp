// What torch and accelerate refuse of packed weights that FSDP should cut, and what was not compared.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

/// MixedPrecision.param_dtype is for all floating tensors.
void check_cast_of_packed(const TrainingPlan& training, const QuantizationPlan& quantization, Problems& problems) {
    const DType cast = training.fp16 ? DType::float16 : DType::bfloat16;
    if (quantization.storage != cast)
        problems.unsupported("load.quantization_config.bnb_4bit_quant_storage",
                             fmt::format("FSDP's mixed precision would cast packed weights from {} to {}, which "
                                         "destroys them",
                                         name_of(quantization.storage), name_of(cast)),
                             fmt::format("{0}, with load.dtype {0}", name_of(cast)));
}

void check_choice_of_packed(const QuantizationPlan& quantization, Problems& problems) {
    if (quantization.skip_modules_given)
        problems.unsupported("load.quantization_config.llm_int8_skip_modules",
                             "other choices of quantized layers are not supported with FSDP", "leave it out");
}

}  // namespace

// torch 2.11 distributed/fsdp/_flat_param.py FlatParamHandle._validate_tensors_to_flatten: a unit's tensors have one
// floating dtype. bitsandbytes' packed weights stand among the layer's norms.
void check_quantized_units(const TrainPlan& plan, const QuantizationPlan& quantization, Problems& problems) {
    constexpr const char* kStorage = "load.quantization_config.bnb_4bit_quant_storage";
    if (quantization.method == QuantMethod::int8)
        return problems.invalid(
            "load.quantization_config.load_in_8bit",
            "torch stops: FSDP1 cannot flatten integer weights (Cannot flatten integer dtype tensors)",
            "load_in_4bit with bnb_4bit_quant_storage, or DistributedDataParallel");
    if (!is_floating(quantization.storage))
        return problems.invalid(kStorage,
                                fmt::format("torch stops: FSDP1 cannot flatten packed weights in {} (Cannot flatten "
                                            "integer dtype tensors)",
                                            name_of(quantization.storage)),
                                fmt::format("{}, the dtype of the other weights", name_of(plan.load.dtype)));
    const DType others = plan.prepare_kbit ? DType::float32 : plan.load.dtype;
    if (quantization.storage != others)
        return problems.invalid(
            plan.prepare_kbit ? "prepare_kbit" : kStorage,
            fmt::format("torch stops: packed weights are {}, the norms in their units {}{} (Must flatten tensors with "
                        "uniform dtype)",
                        name_of(quantization.storage), name_of(others),
                        plan.prepare_kbit ? " once peft has prepared the network" : ""),
            plan.prepare_kbit ? "--prepare-kbit false (prepare_kbit null): norms stay as they are"
                              : fmt::format("{}, the dtype of the other weights", name_of(others)));
    check_choice_of_packed(quantization, problems);
}

// accelerate 1.15 fsdp2_prepare_model: packed weights that are integers stay whole if they are Params4bit. torch 2.11
// _fsdp_param.py makes each other one a parameter that requires gradients first.
void check_quantized_rows(const TrainPlan& plan, const QuantizationPlan& quantization, Problems& problems) {
    if (quantization.method == QuantMethod::int8)
        return problems.invalid(
            "load.quantization_config.load_in_8bit",
            "torch stops: FSDP2 cannot cut integer weights (only Tensors of floating point dtype can "
            "require gradients)",
            "load_in_4bit, or DistributedDataParallel");
    const bool is_cast = plan.training.bf16 || plan.training.fp16;
    if (is_floating(quantization.storage) && is_cast) check_cast_of_packed(plan.training, quantization, problems);
    check_choice_of_packed(quantization, problems);
}

}  // namespace vramfit
