// The list of refusals.
#include "model/second/refusals.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/causal_lm/classification.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit::model {

namespace {

/// Of either kind.
template <class Refuse>
void refuse_kind(const SecondNetwork& second, const Refuse& refuse) {
    const ModelSpec& model = second.model;
    if (model.recording) refuse("model", "recorded networks are not supported", "a model of one of the families");
    if (model.mixture) refuse("model", "mixtures of experts are not supported", "a dense model");
    if (model.packed_but_for)
        refuse("model", "a checkpoint that is quantized already is not supported", "one in 16 bits");
    if (second.quantization && second.quantization->method == QuantMethod::int8)
        refuse("quantization_config", "int8 weights are not supported", "4-bit weights, or none");
    if (second.attention == AttentionImplementation::eager)
        refuse("attn_implementation", "eager attention is not supported", "sdpa, flash_attention_2");
    if (model.rope_type == "dynamic" || model.rope_type == "longrope")
        refuse("model", "frequencies that follow the length are not supported", "another model");
}

/// What GKDTrainer was not compared with.
void refuse_in_distillation(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    const auto refuse = [&problems](const char* where, const char* what, const char* hint) {
        problems.push_back({where, what, hint});
    };
    if (run.stack.trl < Version{1, 16, 0})
        refuse("loop.kind", "GKD was compared with trl 1.16 only", "the default stack");
    if (run.spec.mixture) refuse("model", "mixtures of experts in GKD are not supported", "a dense model");
    if (plan.training.fp16) refuse("training.fp16", "GKD with fp16 is not supported", "bf16");
    if (plan.load.attention != AttentionImplementation::sdpa || plan.load.sdpa_kernel || plan.load.sdpa_expand_kv)
        refuse("load.attn_implementation", "GKD with another attention than sdpa's own choice is not supported",
               "sdpa");
    if (plan.peft && !plan.trl_makes_adapters)
        refuse("trl.peft_config", "GKD of a model that has adapters already is not supported",
               "give the trainer a peft_config");
    if (plan.training.cut_cross_entropy || plan.training.optimizer_in_backward)
        refuse("training", "GKD with another trainer's loss or optimizer is not supported",
               "leave cut_cross_entropy and optimizer_in_backward out");
    if (plan.load.quantization && plan.load.quantization->method == QuantMethod::int8)
        refuse("load.quantization_config", "GKD with int8 weights is not supported", "4-bit weights");
}

}  // namespace

void refuse_beside_networks(const Run& run, std::vector<Problem>& problems) {
    const TrainPlan& plan = run.plan;
    if (plan.reward_models.empty() && !plan.teacher && !plan.value_model) return;
    const auto refusing = [&problems](std::string at, std::string_view what_it_is) {
        return [&problems, at = std::move(at), what_it_is](const char* key, const char* what, const char* hint) {
            problems.push_back({fmt::format("{}.{}", at, key), fmt::format("{}: {}", what_it_is, what), hint});
        };
    };
    const auto judge_classifier = [](const SecondNetwork& model, const auto& refuse) {
        refuse_kind(model, refuse);
        if (has_no_classifier(model.model))
            refuse("model", "transformers has no class of this type that classifies sequences", "another model");
        if (model.model.is_text_part)
            refuse("model", "the text part of a model of text and images is not supported", "a model of text");
    };
    for (std::size_t i = 0; i < plan.reward_models.size(); ++i)
        judge_classifier(plan.reward_models[i], refusing(fmt::format("loop.reward_models.{}", i), "a reward model"));
    if (plan.value_model) judge_classifier(*plan.value_model, refusing("loop.value_model", "a value model"));
    if (plan.teacher) {
        const auto refuse = refusing("loop.teacher", "a teacher");
        refuse_kind(*plan.teacher, refuse);
        if (plan.teacher->attention == AttentionImplementation::flash_attention_2)
            refuse("attn_implementation", "flash_attention_2 is not supported", "sdpa");
    }
    if (plan.loop.kind == LoopKind::gkd) refuse_in_distillation(run, problems);
    if (plan.distributed)
        problems.push_back({"distributed", "a second network on several GPUs is not supported", "one GPU"});
}

}  // namespace vramfit::model
