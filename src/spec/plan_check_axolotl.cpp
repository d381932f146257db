// FSDP2 as axolotl prepares it.
#include "spec/plan_check_parts.hpp"

namespace vramfit {

namespace {

void refuse_adapters(const LoraPlan& lora, Problems& problems) {
    if (has_more_than_matrices(lora))
        problems.unsupported("peft", "with axolotl's preparation only LoRA's two matrices are supported",
                             "no use_dora, bias, lora_bias, modules_to_save, target_parameters");
}

void refuse_packed(const LoadPlan& load, const Fsdp2Plan& fsdp, Problems& problems) {
    if (!load.quantization) return;
    // axolotl 0.18, loaders/model.py _build_model: quantized on the host, sent entry by entry.
    if (fsdp.cpu_ram_efficient_loading)
        problems.unsupported("distributed.fsdp_config.cpu_ram_efficient_loading",
                             "axolotl packs weights in host memory then, which is not supported",
                             "false: each process packs its weights on its GPU");
    if (load.quantization->storage == DType::uint8)
        problems.unsupported("load.quantization_config.bnb_4bit_quant_storage",
                             "packed weights of this type are not supported with axolotl's preparation", "bfloat16");
}

}  // namespace

void check_axolotl(const TrainPlan& plan, const Stack& stack, const Fsdp2Plan& fsdp, Problems& problems) {
    if (fsdp.prepared_by != FsdpPreparation::axolotl) return;
    constexpr const char* kWhere = "distributed.prepared_by";
    if (!stack.fsdp2_is_known())
        problems.unsupported(kWhere, "axolotl is supported with transformers 5.17 only", "--stack hf-2026-11");
    if (plan.loop.kind != LoopKind::trainer)
        problems.unsupported(kWhere, "axolotl trains with a Trainer of its own", "loop.kind trainer");
    if (fsdp.wrap_policy != WrapPolicy::transformer_based)
        problems.unsupported("distributed.fsdp_config.auto_wrap_policy",
                             "axolotl is supported with its layers as units only", "TRANSFORMER_BASED_WRAP");
    if (fsdp.context.size > 1)
        problems.unsupported(kWhere, "context parallelism is not supported with axolotl's preparation",
                             "prepared_by accelerate");
    refuse_packed(plan.load, fsdp, problems);
    if (plan.peft) refuse_adapters(*plan.peft, problems);
}

}  // namespace vramfit
