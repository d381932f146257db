// Job files: the rows and the loop, the keys `batch` and `loop`.
#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "vramfit/spec/other_loops.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kLength = {.low = 1, .high = std::int64_t{1} << 31};

void read_before(ObjectReader& loop, LoopPlan& plan) {
    const JsonValue* list = loop.value("before");
    if (!list) return;
    if (list->kind != JsonValue::Kind::list)
        return loop.problems().invalid(loop.path("before"),
                                       fmt::format("a list of forwards is wanted, not {}", list->shown()),
                                       "[{\"grad\": false, \"sequence_length\": 128}]");
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        ObjectReader forward(list->items[i], fmt::format("{}/{}", loop.path("before"), i), loop.problems());
        WarmForward read;
        ObjectReader::set(read.grad, forward.boolean("grad"));
        ObjectReader::set(read.sequence_length, forward.integer("sequence_length", kLength));
        forward.refuse_unknown();
        plan.before.push_back(read);
    }
}

void read_peak_window(ObjectReader& loop, LoopPlan& plan) {
    const JsonValue* window = loop.value("peak_window");
    if (!window) return;
    static constexpr Named<PeakWindow::Kind> words[] = {{"process", PeakWindow::Kind::process},
                                                        {"train", PeakWindow::Kind::train}};
    if (window->kind != JsonValue::Kind::object) {
        ObjectReader::set(plan.peak_window.kind, loop.choice<PeakWindow::Kind>("peak_window", words));
        return;
    }
    ObjectReader object(*window, loop.path("peak_window"), loop.problems());
    plan.peak_window.kind = PeakWindow::Kind::steps;
    ObjectReader::set(plan.peak_window.steps, object.integers("steps", {.low = 1, .high = plan.steps}));
    if (plan.peak_window.steps.empty())
        loop.problems().invalid(object.path("steps"), "a list of steps is wanted", "steps count from 1");
    object.refuse_unknown();
}

}  // namespace

void read_batch(ObjectReader batch, BatchPlan& plan) {
    ObjectReader::set(plan.sequence_length, batch.integer("sequence_length", kLength));
    ObjectReader::set(plan.attention_mask, batch.choice<AttentionMask>("attention_mask", kMaskNames));
    ObjectReader::set(plan.labels, batch.choice<Labels>("labels", kLabelNames));
    batch.refuse_unknown();
}

void read_loop(ObjectReader& loop, LoopPlan& plan) {
    if (const JsonValue* kind = loop.value("kind"); kind && is_other_loop(kind->text))
        loop.problems().unsupported(loop.path("kind"), fmt::format("{} is not predicted", kind->text), kPredictedLoops);
    else
        ObjectReader::set(plan.kind, loop.choice<LoopKind>("kind", kLoopNames));
    ObjectReader::set(plan.steps, loop.integer("steps", {.low = 1, .high = kMostSteps}));
    ObjectReader::set(plan.loss, loop.choice<LoopLoss>("loss", kLossNames));
    ObjectReader::set(plan.grad, loop.boolean("grad"));
    ObjectReader::set(plan.output, loop.choice<OutputLife>("output", kOutputNames));
    ObjectReader::set(plan.zero_grad, loop.choice<ZeroGrad>("zero_grad", kZeroGradNames));
    ObjectReader::set(plan.batch, loop.choice<BatchMove>("batch", kBatchMoveNames));
    ObjectReader::set(plan.input_require_grads, loop.boolean("input_require_grads"));
    read_before(loop, plan);
    read_peak_window(loop, plan);
    plan.phase_step = loop.integer("phase_step", {.low = 1, .high = plan.steps}, Null::absent);
}

}  // namespace vramfit
