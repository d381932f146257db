// Pipelines: the order of work under Interleaved 1F1B, and which stage an answer is about.
#include <algorithm>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "model/parallel/pipeline/interleaved.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"

using namespace vramfit;

namespace {

std::string text_of(const std::vector<model::PipelineAction>& order) {
    constexpr const char* kNames[] = {"F", "B", "SEND_F", "SEND_B", "RECV_F", "RECV_B"};
    std::string out;
    for (const model::PipelineAction& action : order)
        out += fmt::format("{}{}{}{}", out.empty() ? "" : " ", action.stage, kNames[static_cast<int>(action.kind)],
                           action.micro);
    return out;
}

Job pipeline_job(PipelinePlan plan, std::int64_t stages, std::int64_t layers = 4) {
    Job job = test::small_llama(layers);
    job.plan.loop.kind = LoopKind::plain;
    DistributedPlan& processes = job.plan.distributed.emplace();
    processes.world_size = stages;
    processes.any_rank = true;
    processes.method = plan;
    return job;
}

Prediction of_stage(Job job, std::int64_t rank) {
    job.plan.distributed->any_rank = false;
    job.plan.distributed->rank = rank;
    return predict(job);
}

}  // namespace

// pipeline_order_with_comms of torch 2.11's ScheduleInterleaved1F1B: two processes, two stages each, four micro
// batches.
TEST_CASE("Interleaved 1F1B works in torch's order") {
    const model::InterleavedShape shape{2, 2, 4};
    CHECK(text_of(model::interleaved_order(shape, 0)) ==
          "0F0 0SEND_F0 2RECV_F0 0F1 0SEND_F1 2RECV_F1 2F0 2SEND_F0 2F1 2SEND_F1 2RECV_B0 0F2 0SEND_F2 "
          "2B0 2SEND_B0 2RECV_B1 0F3 0SEND_F3 2RECV_F2 2B1 2SEND_B1 0RECV_B0 2F2 2SEND_F2 2RECV_F3 0B0 "
          "0RECV_B1 2F3 2SEND_F3 0B1 2RECV_B2 2B2 2SEND_B2 2RECV_B3 2B3 2SEND_B3 0RECV_B2 0B2 0RECV_B3 "
          "0B3");
    CHECK(text_of(model::interleaved_order(shape, 1)) ==
          "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1 3RECV_F0 3F0 3RECV_F1 3B0 3SEND_B0 1RECV_F2 3F1 "
          "1RECV_B0 3B1 3SEND_B1 1RECV_F3 1F2 1SEND_F2 1RECV_B1 1B0 1SEND_B0 3RECV_F2 1F3 1SEND_F3 1B1 "
          "1SEND_B1 3RECV_F3 3F2 3B2 3SEND_B2 1RECV_B2 3F3 3B3 3SEND_B3 1RECV_B3 1B2 1SEND_B2 1B3 "
          "1SEND_B3");
}

TEST_CASE("Interleaved 1F1B does everything once") {
    for (const auto& [processes, stages, micro_batches] :
         {std::tuple(2, 1, 2), std::tuple(4, 3, 10), std::tuple(3, 4, 3), std::tuple(8, 2, 16)}) {
        for (int process = 0; process < processes; ++process) {
            const auto order = model::interleaved_order({processes, stages, micro_batches}, process);
            const auto count = [&](model::PipelineAction::Kind kind) {
                return std::count_if(order.begin(), order.end(),
                                     [&](const auto& action) { return action.kind == kind; });
            };
            CHECK(count(model::PipelineAction::Kind::forward) == stages * micro_batches);
            CHECK(count(model::PipelineAction::Kind::backward) == stages * micro_batches);
            const int ends = process == 0 ? 1 : 0;
            CHECK(count(model::PipelineAction::Kind::receive_forward) == (stages - ends) * micro_batches);
            CHECK(count(model::PipelineAction::Kind::send_backward) == (stages - ends) * micro_batches);
        }
    }
}

TEST_CASE("the answer about a pipeline is that of the stage that needs the most") {
    const Prediction answer = predict(pipeline_job({.micro_batches = 4}, 4));
    REQUIRE(answer.stages.size() == 4);
    std::int64_t most = 0;
    for (const StageResult& stage : answer.stages) {
        const Prediction own = of_stage(pipeline_job({.micro_batches = 4}, 4), stage.process);
        CHECK(own.peak.reserved == stage.peak.reserved);
        CHECK(own.stages.empty());
        most = std::max(most, own.peak.reserved);
    }
    CHECK(answer.peak.reserved == most);
}

TEST_CASE("a pipeline that is too large in one stage is too large") {
    Job job = pipeline_job({.micro_batches = 4}, 4);
    const Prediction free = predict(job);
    const auto least = std::min_element(free.stages.begin(), free.stages.end(),
                                        [](const auto& a, const auto& b) { return a.peak.reserved < b.peak.reserved; });
    REQUIRE(least->peak.requested < free.peak.requested);
    job.device.capacity_known = true;
    job.device.communicator = Bytes{1};  // nothing is taken off
    job.device.usable = Bytes{least->peak.reserved};
    job.device.total = Bytes{std::int64_t{80} << 30};
    const Prediction answer = predict(job);
    CHECK(answer.verdict == Verdict::too_large);
    CHECK(answer.stages[static_cast<std::size_t>(answer.plan.distributed->rank)].verdict == Verdict::too_large);
    CHECK(answer.stages[static_cast<std::size_t>(least->process)].verdict != Verdict::too_large);
}

TEST_CASE("what a pipeline keeps") {
    const auto middle = [](PipelinePlan plan) { return of_stage(pipeline_job(plan, 4), 1).peak.requested; };
    using S = PipelineSchedule;
    // GPipe keeps all micro batches, 1F1B three of them, whatever their number.
    CHECK(middle({.schedule = S::gpipe, .micro_batches = 8}) >
          middle({.schedule = S::one_f_one_b, .micro_batches = 8}));
    const auto last = [](bool returns) {
        return of_stage(pipeline_job({.micro_batches = 8, .return_outputs = returns}, 4), 3).resident.requested +
               of_stage(pipeline_job({.micro_batches = 8, .return_outputs = returns}, 4), 3).end.requested;
    };
    const Job job = pipeline_job({}, 4);
    const std::int64_t logits = job.plan.training.per_device_train_batch_size * job.plan.batch.sequence_length *
                                job.model.vocab_size * element_size(job.plan.load.dtype);
    CHECK(last(true) - last(false) == 2 * 8 * logits);  // the stage's own and the caller's, as one tensor
}
