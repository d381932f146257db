// RLOO: what differs from GRPO, whose generation and scores it has.

#include "model/record.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;
using vramfit::test::reason_of;

namespace {

const std::string kRlooRows = R"("prompt_length": 6, "completion_length": 8)";
const std::string kRlooLora = R"(, "peft": {"r": 4, "target_modules": "all-linear"})";

Job rloo_job(const std::string& training, const std::string& batch = kRlooRows, const std::string& more = "",
             const std::string& loop = "rloo") {
    return read_job(R"({"schema": "vramfit.job/1", "model": {"model_type": "llama", "hidden_size": 128,
        "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 512}, "loop": {"kind": ")" +
                        loop + R"("}, "training": {"per_device_train_batch_size": 4)" + training +
                        R"(}, "load": {"dtype": "bfloat16"}, "batch": {)" + batch + "}" + more + "}",
                    "job.json", {});
}

/// Windows by name, and how much each has at most.
std::int64_t rloo_peak_in(const Job& job, const std::string& name) {
    for (const WindowLevels& window : timeline(job).windows)
        if (name_of(window.phase) == name) return window.peak.requested;
    return 0;
}

bool rloo_has(const Job& job, const std::string& name) { return rloo_peak_in(job, name) > 0; }

/// What is asked for, in order.
std::vector<std::int64_t> rloo_requests(const Program& program) {
    std::vector<std::int64_t> out;
    for (const Allocation& each : program.allocations) out.push_back(each.bytes);
    return out;
}

}  // namespace

// trl 1.16 rloo_config.py: num_generations 2, beta 0.05.
TEST_CASE("RLOO has a reference and groups of two where nothing else is said") {
    const Job job = rloo_job("");
    CHECK(job.plan.preference.grpo.num_generations == 2);
    CHECK(rloo_has(job, "load_reference"));
    CHECK(rloo_has(job, "step1.reference_forward"));
    const Job without = rloo_job(R"(, "beta": 0)");
    CHECK_FALSE(rloo_has(without, "load_reference"));
    CHECK_FALSE(rloo_has(without, "step1.reference_forward"));
    const Job adapted = rloo_job("", kRlooRows, kRlooLora);
    CHECK_FALSE(rloo_has(adapted, "load_reference"));
    CHECK(rloo_has(adapted, "step1.reference_forward"));
}

// trl 1.16 rloo_trainer.py _generate_and_score_completions: old_per_token_logps in any case.
TEST_CASE("RLOO's policy scores what it has generated before the loss, which GRPO's does only where it has changed") {
    CHECK(rloo_has(rloo_job(R"(, "beta": 0)"), "step0.log_probabilities"));
    CHECK_FALSE(rloo_has(rloo_job(R"(, "num_generations": 2)", kRlooRows, "", "grpo"), "step0.log_probabilities"));
}

TEST_CASE("RLOO's tokens and batches are written again as they would be run") {
    for (const char* training : {"", R"(, "bf16": true, "gradient_accumulation_steps": 2)",
                                 R"(, "num_iterations": 2, "normalize_advantages": true, "temperature": 0.5)"}) {
        INFO(training);
        const Job job = rloo_job(training, R"("prompt_length": 6, "completion_length": 40)", kRlooLora);
        CHECK(rloo_requests(model::record(job.model, job.plan, job.stack, job.device)) ==
              rloo_requests(model::record_every_batch(job.model, job.plan, job.stack, job.device)));
    }
}

TEST_CASE("normalized advantages and clipped rewards are tensors of their own") {
    const auto allocations = [](const std::string& training) {
        return program_of(rloo_job(training)).allocations.size();
    };
    const std::size_t plain = allocations("");
    CHECK(allocations(R"(, "normalize_advantages": true)") > plain);
    CHECK(allocations(R"(, "reward_clip_range": [-1, 1])") == plain + 2);  // a clamp in each of two steps
    CHECK(allocations(R"(, "reward_clip_range": null)") == plain);
}

TEST_CASE("what RLOO's arguments may be") {
    CHECK_THROWS_AS(rloo_job(R"(, "reward_clip_range": 1)"), Error);
    CHECK_THROWS_AS(rloo_job(R"(, "reward_clip_range": [1])"), Error);
    CHECK_THROWS_AS(rloo_job(R"(, "loss_type": "dapo")"), Error);
    CHECK_THROWS_AS(rloo_job(R"(, "vllm_importance_sampling_mode": "token_mask")"), Error);
    CHECK_THROWS_AS(rloo_job(R"(, "normalize_advantages": true)", kRlooRows, "", "grpo"), Error);
    CHECK(read_job(to_json_text(rloo_job(R"(, "beta": 0, "reward_clip_range": [-2, 2])")), "again.json", {}).plan ==
          rloo_job(R"(, "beta": 0, "reward_clip_range": [-1, 1])").plan);
}

TEST_CASE("RLOO on several GPUs: DDP, ZeRO and FSDP2, and no others") {
    const auto with = [](const std::string& processes) {
        return rloo_job("", kRlooRows, R"(, "distributed": {"world_size": 2, )" + processes + "}");
    };
    CHECK(reason_of(with(R"("kind": "ddp")"), ErrorKind::unsupported).empty());
    CHECK(reason_of(with(R"("kind": "fsdp2")"), ErrorKind::unsupported).empty());
    CHECK(reason_of(with(R"("kind": "fsdp1")"), ErrorKind::unsupported).find("RLOOTrainer") != std::string::npos);
}
