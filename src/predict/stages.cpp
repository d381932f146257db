// Asks one process after the other: which one is the worst depends on layers, micro batches and the logits of a
// pipeline, on parts of the attention in a ring.
#include "predict/stages.hpp"

#include <optional>
#include <tuple>

#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

Prediction predict_stages(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device) {
    check_plan(model, plan, stack);
    TrainPlan own = plan;
    own.distributed->any_rank = false;
    std::optional<Prediction> worst;
    std::vector<StageResult> stages;
    const auto need = [](const Prediction& p) {
        return std::tuple(p.verdict == Verdict::too_large, p.verdict == Verdict::tight, p.peak.reserved);
    };
    for (std::int64_t& rank = own.distributed->rank = 0; rank < plan.distributed->different_ranks(); ++rank) {
        Prediction p = predict(model, own, stack, device);
        stages.push_back({rank, p.verdict, p.peak});
        if (!worst || need(p) > need(*worst)) worst = std::move(p);
    }
    if (plan.distributed->as<PipelinePlan>()) worst->stages = std::move(stages);
    return std::move(*worst);
}

}  // namespace vramfit
