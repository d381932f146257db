// Launch commands and files: what is written is read back by check as the run that was predicted.
#include <algorithm>

#include <fmt/format.h>

#include "cli/plan_flags.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/check/check.hpp"
#include "vramfit/methods/compare.hpp"
#include "vramfit/methods/launch.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

constexpr const char* kModel = "llama-3.2-1b";

MethodsQuestion launch_question(bool adapters) {
    MethodsQuestion question;
    question.job = cli::default_job(load_model(kModel, {}, "--model"));
    if (!adapters) question.job.plan.peft.reset();
    question.job.plan.training.bf16 = true;
    question.job.plan.training.max_grad_norm = 0.5;
    question.job.device = device_from("H100");
    question.cards = 4;
    question.largest_batch = false;
    return question;
}

/// What check answers about the launch line and the files beside it.
CheckResult check_of(const Launch& launch, const TrainPlan& plan) {
    CheckQuestion question;
    std::string line = fmt::format("{}", fmt::join(launch.words, " "));
    for (const std::string& argument : launch.arguments) line += " " + argument;
    question.trainer.files = {
        {"run.sh", fmt::format("{} --model_name_or_path {} --torch_dtype bfloat16\n", line, kModel)}};
    question.trainer.open = [&](const std::string& path) -> std::optional<std::string> {
        for (const LaunchFile& file : launch.files)
            if (path == file.name) return file.text;
        return std::nullopt;
    };
    if (plan.peft)
        question.trainer.files.push_back(
            {"adapter_config.json",
             R"({"peft_type": "LORA", "r": 8, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"]})"});
    question.trainer.seq = plan.batch.sequence_length;
    question.trainer.stack = stack_from("").stack;
    question.devices = {device_from("H100")};
    question.price_changes = false;
    return check(question);
}

}  // namespace

TEST_CASE("what a launch writes is read back as the run that was predicted", "[long]") {
    const bool adapters = GENERATE(false, true);
    int compared = 0;
    for (const MethodRow& row : compare_methods(launch_question(adapters)).rows) {
        if (!row.prediction || row.quantized) continue;
        const auto& processes = row.job.plan.distributed;
        const bool in_script = processes && (processes->as<TpPlan>() || processes->as<PipelinePlan>());
        if (in_script) continue;  // the model's code says it, no file
        CAPTURE(row.id, adapters);
        const CheckResult result = check_of(launch_of(row.prediction->plan), row.prediction->plan);
        if (result.refused()) FAIL(result.reading.refusals.front().what);
        REQUIRE(result.answers.size() == 1);
        const Prediction& p = result.answers.front().prediction;
        CHECK(p.peak.reserved == row.prediction->peak.reserved);
        CHECK(p.peak.requested == row.prediction->peak.requested);
        ++compared;
    }
    CHECK(compared >= 10);
}

TEST_CASE("a launch names its files where they lie, and says what no file can") {
    const MethodsQuestion question = launch_question(false);
    TrainPlan plan = question.job.plan;
    plan.distributed.emplace().world_size = 4;
    plan.distributed->method = Fsdp2Plan{};
    const Launch fsdp = launch_of(plan, "out/");
    CHECK(fsdp.words ==
          std::vector<std::string>{"accelerate", "launch", "--config_file", "out/accelerate.yaml", "train.py"});
    REQUIRE(fsdp.files.size() == 1);
    CHECK(fsdp.files.front().text.find("num_processes: 4\n") != std::string::npos);
    plan.distributed->method = TpPlan{};
    const Launch tensor = launch_of(plan);
    CHECK(tensor.files.empty());
    REQUIRE(tensor.script.size() == 1);  // dtype and plan
    CHECK(tensor.script.front().find("tp_plan=\"auto\"") != std::string::npos);
    plan.distributed->method = PipelinePlan{.micro_batches = 8};
    CHECK(launch_of(plan).arguments.empty());
    CHECK(launch_of(plan).script.back().find("n_microbatches=8") != std::string::npos);
    plan.distributed.reset();
    CHECK(launch_of(plan).words.back() == "train.py");
}

TEST_CASE("a limit of host memory refuses what keeps more there, and nothing else") {
    MethodsQuestion question = launch_question(false);
    const MethodsAnswer all = compare_methods(question);
    question.host_memory = Bytes{1};
    int lacking = 0;
    for (const MethodRow& row : compare_methods(question).rows) {
        CHECK(row.lacks_host_memory == (row.host_bytes > 1));
        if (!row.lacks_host_memory) continue;
        CHECK_FALSE(row.fits());
        CHECK(row.verdict() == Verdict::too_large);
        ++lacking;
    }
    CHECK(lacking ==
          std::count_if(all.rows.begin(), all.rows.end(), [](const auto& row) { return row.host_bytes > 1; }));
    CHECK(lacking >= 3);
}
