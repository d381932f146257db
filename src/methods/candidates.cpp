// The table of methods.
#include "methods/candidates.hpp"

#include "vramfit/spec/deepspeed.hpp"

namespace vramfit {

namespace {

DistributedMethod ddp() { return DdpPlan{}; }

DistributedMethod fsdp1() { return Fsdp1Plan{}; }

DistributedMethod fsdp2() { return Fsdp2Plan{}; }

DistributedMethod fsdp2_keeping() {
    Fsdp2Plan plan;
    plan.reshard_after_forward = false;
    return plan;
}

DistributedMethod fsdp2_offloaded() {
    Fsdp2Plan plan;
    plan.cpu_offload = true;
    return plan;
}

DistributedMethod tensor_parallel() { return TpPlan{}; }

DistributedMethod pipeline() { return PipelinePlan{}; }

template <int Stage>
DistributedMethod zero() {
    return zero_plan_of(Stage);
}

template <int Stage>
DistributedMethod zero_offloaded() {
    ZeroPlan plan = zero_plan_of(Stage);
    plan.offload_optimizer = true;
    plan.offload_param = Stage == 3;
    return plan;
}

constexpr Candidate kCandidates[] = {
    {.id = "one_card", .title = "one GPU", .alone = true},
    {.id = "ddp", .title = "DDP", .method = ddp},
    {.id = "zero1", .title = "ZeRO-1", .uneven = true, .method = zero<1>},
    {.id = "zero2", .title = "ZeRO-2", .uneven = true, .method = zero<2>},
    {.id = "zero2_offload", .title = "ZeRO-2, states on host", .uneven = true, .method = zero_offloaded<2>},
    {.id = "zero3", .title = "ZeRO-3", .uneven = true, .method = zero<3>},
    {.id = "zero3_offload", .title = "ZeRO-3, all on host", .uneven = true, .method = zero_offloaded<3>},
    {.id = "fsdp2", .title = "FSDP2", .uneven = true, .method = fsdp2},
    {.id = "fsdp2_keep", .title = "FSDP2, no resharding", .uneven = true, .method = fsdp2_keeping},
    {.id = "fsdp2_offload", .title = "FSDP2, all on host", .uneven = true, .method = fsdp2_offloaded},
    {.id = "fsdp2_cp", .title = "context parallelism", .uneven = true, .context = true, .method = fsdp2},
    {.id = "fsdp1", .title = "FSDP1", .uneven = true, .method = fsdp1},
    {.id = "tp", .title = "tensor parallelism", .method = tensor_parallel},
    {.id = "pp", .title = "pipeline, 1F1B", .method = pipeline},
    {.id = "qlora_one_card", .title = "QLoRA, one GPU", .alone = true, .quantized = true},
    {.id = "qlora_ddp", .title = "QLoRA, DDP", .quantized = true, .method = ddp},
    {.id = "qlora_zero2", .title = "QLoRA, ZeRO-2", .quantized = true, .uneven = true, .method = zero<2>},
    {.id = "qlora_zero3", .title = "QLoRA, ZeRO-3", .quantized = true, .uneven = true, .method = zero<3>},
    {.id = "qlora_fsdp2", .title = "QLoRA, FSDP2", .quantized = true, .uneven = true, .method = fsdp2},
    {.id = "qlora_fsdp1", .title = "QLoRA, FSDP1", .quantized = true, .uneven = true, .method = fsdp1},
};

}  // namespace

std::span<const Candidate> method_candidates() { return kCandidates; }

}  // namespace vramfit
