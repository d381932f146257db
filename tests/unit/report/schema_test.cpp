// Every JSON document is as its schema in docs/reference says.
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "support/json_schema.hpp"
#include "support/llama.hpp"
#include "vramfit/check/check.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/report/format.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;
using nlohmann::json;

namespace {

void validate(const json& value, const std::string& name) {
    CHECK(fmt::format("{}", fmt::join(test::schema_errors(value, test::schema_of(name)), "\n")).empty());
}

const Format& json_format() { return *find_format("json"); }

Job job_on(const char* card) {
    Job job = test::small_llama();
    if (*card) job.device = device_from(card);
    return job;
}

}  // namespace

TEST_CASE("predictions are as their schema says") {
    const auto* card = GENERATE("", "24GiB", "RTX 4090", "tiny,8,0,108,1000000000,400000000");
    const Prediction p = predict(job_on(card));
    validate(json::parse(json_format().prediction(p, {})), "prediction");
}

TEST_CASE("timelines are as their schema says") {
    const auto* card = GENERATE("", "tiny,8,0,108,1000000000,400000000");
    const Job job = job_on(card);
    TimelineReport report{"small", timeline(job), std::nullopt, notes_of(job)};
    validate(json::parse(json_format().timeline(report, {})), "timeline");
    report.events = program_of(job);
    const json document = json::parse(json_format().timeline(report, {}));
    validate(document, "timeline");
    CHECK(document["events"].size() == report.events->events.size());
    for (const json& event : document["events"]) CHECK(event.size() == (event[1] == "alloc" ? 5 : 4));
}

TEST_CASE("sweeps are as their schema says") {
    const auto* card = GENERATE("24GiB", "tiny,8,0,108,1000000000,90000000");
    const bool adapters = GENERATE(true, false);
    Job job = job_on(card);
    if (adapters) job.plan.peft = LoraPlan{};
    SweepReport report;
    report.questions.push_back({job.model, job.plan, job.stack, job.device, paper_space(job.model)});
    SweepQuestion& question = report.questions.front();
    question.space.ranks = {8, 100000};
    if (!adapters) {
        question.space.ranks = {1};
        question.space.targets = {{"all weights", {}}};
    }
    report.all_rows = true;
    report.commands = {{"vramfit predict"}};
    report.result = sweep(question, {});
    const json document = json::parse(json_format().sweep(report, {}));
    validate(document, "sweep");
    CHECK(document["all_rows"].size() == document["counts"]["total"]);
    CHECK(document["counts"]["invalid"] == document["counts"]["total"].get<int>() / (adapters ? 2 : 1000));
    for (const json& row : document["rows"]) {
        CHECK(row["requested"] == document["all_rows"][row["row"].get<std::size_t>()]["requested"]);
        CHECK(row["command"].get<std::string>().starts_with("vramfit predict --"));
    }
}

TEST_CASE("formulas are as their schema says") {
    const Job job = job_on("24GiB");
    const FormulaReport report{job.model.name, peak_formulas(job)};
    const json document = json::parse(json_format().formulas(report, {}));
    validate(document, "formulas");
    CHECK_FALSE(document["peaks"].empty());
}

TEST_CASE("methods for several cards are as their schema says") {
    MethodsReports reports;
    MethodsReport& report = reports.fleets.emplace_back();
    report.question.job = job_on("1500MiB");
    report.question.job.plan.training.bf16 = true;
    report.question.cards = 2;
    report.question.largest_batch = GENERATE(true, false);
    report.answer = compare_methods(report.question);
    const json document = json::parse(json_format().methods(reports, {}));
    validate(document, "plan");
    CHECK(document["methods"].size() == report.answer.rows.size());
}

TEST_CASE("answers about trainers' files are as their schema says", "[long]") {
    const auto* card = GENERATE("", "24GiB", "4GiB");
    const auto* more = GENERATE("", "rl: dpo\n", "unheard_of: 1\n");
    CheckQuestion question;
    question.trainer.files = {{"a.yaml", std::string("base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\n"
                                                     "micro_batch_size: 8\nadapter: lora\nlora_r: 8\nbf16: true\n") +
                                             more}};
    if (std::string_view(more).starts_with("unheard_of")) question.trainer.assume_off = {"unheard_of"};
    question.trainer.stack = stack_from("").stack;
    question.devices = {*card ? device_from(card) : unlimited_device()};
    CheckReports report;
    report.runs.emplace_back().result = check(question);
    validate(json::parse(json_format().check(report, {})), "check");
}

TEST_CASE("shares and unattributed sum to the requested bytes in JSON too") {
    const json document = json::parse(json_format().prediction(predict(job_on("24GiB")), {}));
    for (const json& peak : document["peaks"]) {
        std::int64_t sum = peak["unattributed"].get<std::int64_t>();
        for (const json& share : peak["shares"]) sum += share["bytes"].get<std::int64_t>();
        CHECK(sum == peak["requested"].get<std::int64_t>());
    }
}

TEST_CASE("every format has a name, a summary and a place; text and json have all functions") {
    for (const Format* format : all_formats()) {
        CAPTURE(format->name);
        CHECK(find_format(format->name) == format);
        CHECK(format->order > 0);
        CHECK_FALSE(std::string_view(format->summary).empty());
        CHECK((format->prediction || format->timeline || format->table || format->sweep || format->check));
        if (std::string_view(format->name) != "json" && std::string_view(format->name) != "text") continue;
        CHECK(format->check);
        CHECK(format->prediction);
        CHECK(format->timeline);
        CHECK(format->table);
        CHECK(format->sweep);
    }
    CHECK_FALSE(find_format("xml"));
}
