// vLLM beside the trainer: its share of the GPU, what it may take beyond it, and the verdict between both.
#include <algorithm>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"

using namespace vramfit;

namespace {

Job shared_job(const std::string& training = "", const std::string& batch = R"("prompt_length": 64,
                                                                              "completion_length": 64)") {
    return read_job(R"({"schema": "vramfit.job/1", "model": "smollm2-135m", "loop": {"kind": "grpo"},
        "training": {"per_device_train_batch_size": 4, "num_generations": 4, "use_vllm": true)" +
                        training + R"(}, "load": {"dtype": "bfloat16"},
        "peft": {"r": 4, "target_modules": "all-linear"}, "batch": {)" +
                        batch + "}}",
                    "job.json", {});
}

/// A card of which all but the context is known.
Job on_card_of(Job job, std::int64_t total) {
    job.device = with_context(with_total(device_from("80GiB", ""), Bytes{total}, ""), Bytes{300 * kMiB}, "");
    return job;
}

std::string stops_with(const Job& job) {
    try {
        judge(job);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

}  // namespace

// vllm 0.31.0 v1/worker/utils.py request_memory: ceil(total x share).
TEST_CASE("vLLM's share of the GPU is kept free, once") {
    const Job job = on_card_of(shared_job(R"(, "vllm_gpu_memory_utilization": 0.5)"), 24 * kGiB);
    const Device device = of_process(job.device, job.plan);
    CHECK(device.engine.count == 12 * kGiB);
    CHECK(device.usable.count == 24 * kGiB - 300 * kMiB - 12 * kGiB);
    CHECK(of_process(device, job.plan).usable == device.usable);
    CHECK(of_process(job.device, TrainPlan{}).engine.count == 0);
    // Without a GPU it is said what comes beside the trainer's memory.
    const Notes notes = of_process(unlimited_device(), job.plan).notes;
    CHECK(std::any_of(notes.begin(), notes.end(), [](const Note& note) { return note.kind == NoteKind::vllm_share; }));
}

TEST_CASE("what fits only if CUDA graphs take little beyond the share is not said to fit") {
    const std::int64_t need = judge(on_card_of(shared_job(), 80 * kGiB)).peak.reserved;
    // A share of half of the card; with 3 GiB more than needed beside it the graphs have room.
    const auto verdict_with = [&](std::int64_t left) {
        const std::int64_t total = 2 * (need + 300 * kMiB + left);
        return judge(on_card_of(shared_job(R"(, "vllm_gpu_memory_utilization": 0.5)"), total)).ends;
    };
    CHECK(verdict_with(3 * kGiB + 64 * kMiB).verdict() == Verdict::fits);
    const VerdictEnds between = verdict_with(2 * kGiB);
    CHECK(between.best == Verdict::fits);
    CHECK(between.worst == Verdict::too_large);
    // The activations that vLLM measures are gone while the trainer's step runs.
    CHECK(verdict_with(-16 * kMiB).best == Verdict::fits);
    CHECK(verdict_with(-need / 2).best == Verdict::too_large);
}

TEST_CASE("vLLM stops where its share does not hold weights and a request") {
    const std::string small = R"(, "vllm_gpu_memory_utilization": 0.02)";
    CHECK(stops_with(on_card_of(shared_job(small), 8 * kGiB)).find("does not hold its weights") != std::string::npos);
    CHECK(stops_with(on_card_of(shared_job(small), 80 * kGiB)).empty());
    // 30 layers, 3 heads of 64 for keys and values each: 22.5 KiB of a token.
    const std::string many = R"(, "vllm_gpu_memory_utilization": 0.1, "vllm_max_model_length": 100000)";
    CHECK(stops_with(on_card_of(shared_job(many), 16 * kGiB)).find("100000 tokens") != std::string::npos);
    CHECK(stops_with(on_card_of(shared_job(many), 30 * kGiB)).empty());
}
