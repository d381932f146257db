// What torch refuses of a pipeline, and what was not compared.
#include <algorithm>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

/// Precisions and optimizers that pipelines were not compared with.
void check_adamw_in_bf16(const TrainingPlan& t, Problems& problems) {
    if (t.fp16) problems.unsupported("training.fp16", "not supported with a pipeline", "use bf16");
    if (t.optim != "adamw_torch" && t.optim != "adamw_torch_fused")
        problems.unsupported("training.optim", fmt::format("{} is not supported with a pipeline", t.optim),
                             "adamw_torch or adamw_torch_fused");
}

/// Adapters in the decoder layers, all of which are trained: each stage's output requires a gradient.
void check_pipeline_adapters(const LoraPlan& lora, Problems& problems) {
    if (has_more_than_matrices(lora))
        problems.unsupported("peft", "in a pipeline only LoRA's two matrices are supported",
                             "no use_dora, bias, lora_bias, modules_to_save, target_parameters");
    if (lora.layers_to_transform || !lora.layers_pattern.empty())
        problems.unsupported("peft.layers_to_transform",
                             "adapters in some of the layers are not supported in a pipeline", "leave it out");
}

/// Choices of the plain loop that the pipeline's loop has not.
void check_pipeline_loop(const TrainPlan& plan, Problems& problems) {
    const auto refuse = [&](bool wrong, const char* where, const char* what) {
        if (wrong) problems.unsupported(where, fmt::format("{} in a pipeline", what), "leave it out");
    };
    const LoopPlan& loop = plan.loop;
    if (loop.kind != LoopKind::plain)
        problems.unsupported("loop.kind", "no trainer runs a pipeline: its loop is a plain one", "loop.kind plain");
    refuse(loop.loss != LoopLoss::model, "loop.loss", "other losses are not supported");
    refuse(!loop.grad, "loop.grad", "forwards alone are not supported");
    refuse(loop.zero_grad != ZeroGrad::after_step, "loop.zero_grad", "before_forward is not supported");
    refuse(loop.batch != BatchMove::every_step, "loop.batch", "batches that are moved once are not supported");
    refuse(!loop.before.empty(), "loop.before", "forwards before the first step are not supported");
    refuse(plan.batch.labels != Labels::copy, "batch.labels", "other labels are not supported");
    refuse(plan.training.gradient_accumulation_steps > 1, "training.gradient_accumulation_steps",
           "accumulation beside micro batches is not supported");
}

/// torch 2.11 distributed/pipelining/schedules.py: what its schedules refuse.
void check_schedule(const DistributedPlan& processes, const PipelinePlan& pipeline, Problems& problems) {
    constexpr const char* kMicro = "distributed.pipeline.micro_batches";
    if (pipeline.schedule == PipelineSchedule::one_f_one_b && pipeline.micro_batches < processes.world_size)
        problems.invalid(kMicro,
                         fmt::format("torch stops: 1F1B over {} stages needs as many micro batches, not {}",
                                     processes.world_size, pipeline.micro_batches),
                         fmt::format("--micro-batches {}, or --pp-schedule gpipe", processes.world_size));
    const bool interleaved = pipeline.schedule == PipelineSchedule::interleaved;
    if (!interleaved && pipeline.virtual_stages > 1)
        problems.invalid("distributed.pipeline.virtual_stages",
                         fmt::format("torch's {} has one stage in each process", name_of(pipeline.schedule)),
                         "--pp-schedule interleaved_1f1b");
    const std::int64_t rounds = std::max<std::int64_t>(1, pipeline.micro_batches / processes.world_size);
    if (interleaved && pipeline.micro_batches % rounds != 0)
        problems.invalid(kMicro,
                         fmt::format("torch stops: Interleaved 1F1B needs a multiple of its {} rounds, not {}", rounds,
                                     pipeline.micro_batches),
                         fmt::format("--micro-batches {}", pipeline.micro_batches / rounds * rounds));
}

}  // namespace

void check_pipeline(const TrainPlan& plan, const Stack& stack, const PipelinePlan& pipeline, Problems& problems) {
    const auto refuse = [&](const char* where, const char* what, const char* hint) {
        problems.unsupported(where, what, hint);
    };
    if (!stack.tensor_parallelism_is_known())
        refuse("distributed", "pipelines are supported with torch 2.11 and transformers 5.17",
               "choose the stack hf-2026-11");
    check_schedule(*plan.distributed, pipeline, problems);
    check_pipeline_loop(plan, problems);
    if (plan.peft) check_pipeline_adapters(*plan.peft, problems);
    if (plan.distributed->load_on_device || plan.distributed->load_first)
        refuse(plan.distributed->load_on_device ? "distributed.load_on_device" : "distributed.load_first",
               "a network that is split is loaded in host memory", "leave it out");
    if (plan.load.quantization)
        refuse("load.quantization_config", "quantized weights are not supported in a pipeline", "train without");
    else if (plan.prepare_kbit)
        refuse("prepare_kbit", "not supported in a pipeline", "leave it out");
    if (plan.load.resize_token_embeddings || plan.load.cast_after_adapter)
        refuse(plan.load.resize_token_embeddings ? "load.resize_token_embeddings" : "load.cast_after_adapter",
               "not supported in a pipeline", "leave it out");
    check_trainer_arguments(plan.training, "a pipeline", problems);
    if (plan.training.use_liger_kernel)
        refuse("training.use_liger_kernel", "not supported with a pipeline", "leave it out");
    check_adamw_in_bf16(plan.training, problems);
}

}  // namespace vramfit
