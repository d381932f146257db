// Job files of preference training: lengths of rows, arguments of DPOConfig, what is refused.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;

namespace {

Job preference_job(const std::string& batch, const std::string& training = "{}") {
    return read_job(fmt::format(R"({{"schema": "vramfit.job/1", "model": "smollm2-135m", "loop": {{"kind": "dpo"}},
                                    "batch": {}, "training": {}}})",
                                batch, training),
                    "job.json", {});
}

using Lengths = std::vector<std::int64_t>;

std::string why_not(const Job& job) {
    try {
        (void)PlanChecker(job.model, job.stack).check(job.plan);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("pairs: the longest row and what the others lack") {
    const BatchPlan batch =
        preference_job(R"({"prompt_length": 10, "completion_length": 30, "rejected_length": 20})").plan.batch;
    CHECK(batch.sequence_length == 40);
    CHECK(batch.pairs.prompt == Lengths{10});
    CHECK(batch.pairs.chosen_shorter == Lengths{0});
    CHECK(batch.pairs.rejected_shorter == Lengths{10});
}

TEST_CASE("pairs: one length for each row; what is said of none is the tracer's") {
    const BatchPlan rows = preference_job(R"({"prompt_length": [10, 20], "completion_length": [30, 40]})").plan.batch;
    CHECK(rows.sequence_length == 60);
    CHECK(rows.pairs.prompt == Lengths{10, 20});
    CHECK(rows.pairs.chosen_shorter == Lengths{20, 0});
    CHECK(rows.pairs.rejected_shorter == Lengths{20, 0});
    const BatchPlan nothing = preference_job("{}").plan.batch;
    CHECK(nothing.sequence_length == 64);
    CHECK(nothing.pairs.prompt == Lengths{32});
}

TEST_CASE("a job of preferences is written as it was read") {
    const Job job = preference_job(
        R"({"prompt_length": [10, 20], "completion_length": [30, 40], "rejected_length": 25})",
        R"({"per_device_train_batch_size": 2, "loss_type": ["hinge", "sft"], "precompute_ref_log_probs": true,
            "max_length": null, "disable_dropout": false})");
    CHECK(job.plan.preference.loss_types == std::vector{PairLoss::hinge, PairLoss::sft});
    CHECK_FALSE(job.plan.training.max_length);
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
}

TEST_CASE("trl cuts rows at 1024 tokens unless told otherwise: they are refused") {
    const std::string long_rows = R"({"prompt_length": 1000, "completion_length": 25})";
    CHECK(why_not(preference_job(long_rows)).find("1025 tokens and would be cut to 1024") != std::string::npos);
    CHECK(why_not(preference_job(long_rows, R"({"max_length": 1025})")).empty());
    CHECK(why_not(preference_job(long_rows, R"({"max_length": null})")).empty());
}

TEST_CASE("rows that leave a completion no token are refused") {
    Job job = preference_job(R"({"prompt_length": 100, "completion_length": 300, "rejected_length": 60})");
    job.plan.batch.sequence_length = 341;  // as a sweep sets it: the rejected completion keeps one token
    CHECK(why_not(job).empty());
    job.plan.batch.sequence_length = 340;
    CHECK(why_not(job).find("rows of 340 leave it no token") != std::string::npos);
    job.plan.batch.sequence_length = 100;
    CHECK(why_not(job).find("a prompt of 100 tokens leaves no room") != std::string::npos);
}

TEST_CASE("as many lengths as rows") {
    const std::string batch = R"({"completion_length": [30, 40, 50]})";
    CHECK(why_not(preference_job(batch)).find("3 lengths for 1 rows") != std::string::npos);
    CHECK(why_not(preference_job(batch, R"({"per_device_train_batch_size": 3})")).empty());
    CHECK_THROWS_AS(preference_job(R"({"prompt_length": [1, 2], "completion_length": [1, 2, 3]})"), Error);
}

namespace {

Job job_of_kind(const std::string& kind, const std::string& batch, const std::string& training) {
    return read_job(fmt::format(R"({{"schema": "vramfit.job/1", "model": "smollm2-135m", "loop": {{"kind": "{}"}},
                                    "batch": {}, "training": {}}})",
                                kind, batch, training),
                    "job.json", {});
}

}  // namespace

TEST_CASE("jobs of reward models and of KTO are written as they were read") {
    const Job reward = job_of_kind("reward", R"({"completion_length": 40, "rejected_length": 30})",
                                   R"({"center_rewards_coefficient": 0.5, "disable_dropout": false})");
    CHECK(reward.plan.preference.centers_rewards);
    CHECK(read_job(to_json_text(reward), "job.json", {}).plan == reward.plan);
    const Job kto = job_of_kind("kto", R"({"completion_length": 40, "desirable": [false, true, true]})",
                                R"({"loss_type": "apo_zero_unpaired", "per_device_train_batch_size": 3})");
    CHECK(kto.plan.preference.unpaired_loss == UnpairedLoss::apo_zero_unpaired);
    CHECK(kto.plan.batch.pairs.desirable == std::vector<bool>{false, true, true});
    CHECK(read_job(to_json_text(kto), "job.json", {}).plan == kto.plan);
}

TEST_CASE("keys of another trainer of preferences are unknown") {
    CHECK_THROWS_AS(job_of_kind("reward", "{}", R"({"precompute_ref_log_probs": true})"), Error);
    CHECK_THROWS_AS(job_of_kind("kto", R"({"rejected_length": 3})", "{}"), Error);
    CHECK_THROWS_AS(job_of_kind("kto", R"({"desirable": [1]})", "{}"), Error);
    CHECK_THROWS_AS(job_of_kind("dpo", R"({"desirable": [true]})", "{}"), Error);
}
