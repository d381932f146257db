// The answers of `check`: verdicts, changes that are priced, walls, documents for CI.
#include "vramfit/check/check.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/report/format.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

constexpr const char* kLora =
    "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 2048\nmicro_batch_size: 8\nadapter: lora\nlora_r: 16\n"
    "lora_target_linear: true\nbf16: true\nattn_implementation: flash_attention_2\npad_to_sequence_len: true\n";

CheckQuestion about(std::string text, std::vector<std::string> cards) {
    CheckQuestion question;
    question.trainer.files = {{"a.yaml", std::move(text)}};
    question.trainer.stack = stack_from("").stack;
    for (const std::string& card : cards) question.devices.push_back(device_from(card));
    return question;
}

std::string written_as(const char* format, const CheckResult& result) {
    CheckReports reports;
    reports.runs.emplace_back().result = result;
    reports.runs.front().files = {result.reading.trainer_file};
    return find_format(format)->check(reports, {});
}

}  // namespace

TEST_CASE("several cards in one question; one that is too small decides") {
    const CheckResult result = check(about(kLora, {"80GiB", "8GiB"}));
    REQUIRE(result.answers.size() == 2);
    CHECK(result.answers[0].prediction.verdict == Verdict::fits);
    CHECK(result.answers[1].prediction.verdict == Verdict::too_large);
    CHECK(result.verdict == Verdict::too_large);
    CHECK(!result.answers[1].runner_up.empty());
    CHECK(result.answers[0].changes.empty());
}

TEST_CASE("each change is one that fits when the file is changed so") {
    const CheckQuestion question = about(kLora, {"16GiB"});
    const CheckResult result = check(question);
    REQUIRE(result.answers.size() == 1);
    REQUIRE(!result.answers[0].changes.empty());
    CHECK(result.answers[0].changes.size() <= 3);
    for (const PricedChange& change : result.answers[0].changes) {
        CheckQuestion changed = question;
        changed.trainer.edits = change.edits;
        const CheckResult again = check(changed);
        REQUIRE(again.answers.size() == 1);
        CHECK(again.answers[0].prediction.verdict == Verdict::fits);
        CHECK(again.answers[0].prediction.peak.reserved == change.reserved);
        CHECK(again.answers[0].spare == change.spare);
    }
}

namespace {

/// Whether some change edits the key to the value.
bool edits_to(const CheckAnswer& answer, const std::string& key, const std::string& value) {
    for (const PricedChange& change : answer.changes)
        for (const TrainerEdit& edit : change.edits)
            if (edit.key == key && edit.value == value) return true;
    return false;
}

/// Each change as a question of its own.
void expect_that_all_fit(const CheckQuestion& question, const CheckAnswer& answer) {
    for (const PricedChange& change : answer.changes) {
        CheckQuestion changed = question;
        changed.trainer.edits = change.edits;
        CHECK(check(changed).verdict == Verdict::fits);
    }
}

}  // namespace

TEST_CASE("an 8-bit base is tried in 4 bits") {
    std::string text = kLora;
    text.replace(text.find("base_model: llama-3.2-1b"), 24, "base_model: llama-3.1-8b");
    text.replace(text.find("micro_batch_size: 8"), 19, "micro_batch_size: 1");
    const CheckQuestion question = about(text + "load_in_8bit: true\ngradient_checkpointing: true\n", {"11GiB"});
    const CheckResult result = check(question);
    REQUIRE(result.answers.size() == 1);
    CHECK(result.answers[0].prediction.verdict == Verdict::too_large);
    CHECK(edits_to(result.answers[0], "load_in_4bit", "true"));
    expect_that_all_fit(question, result.answers[0]);
}

TEST_CASE("what makes an Unsloth script smaller is in its own calls", "[long]") {
    CheckQuestion question = about(
        "from unsloth import FastLanguageModel\n"
        "model, tokenizer = FastLanguageModel.from_pretrained(model_name=\"llama-3-8b\", max_seq_length=4096, "
        "load_in_4bit=False, load_in_8bit=True)\n"
        "model = FastLanguageModel.get_peft_model(model, r=64, use_gradient_checkpointing=False)\n"
        "trainer = SFTTrainer(model=model, args=TrainingArguments(per_device_train_batch_size=8, "
        "optim=\"adamw_torch\"))\n",
        {"16GiB"});
    question.trainer.files[0].name = "train.py";
    const CheckResult result = check(question);
    REQUIRE(result.answers.size() == 1);
    REQUIRE(!result.answers[0].changes.empty());
    CHECK(edits_to(result.answers[0], "per_device_train_batch_size", "1"));
    CHECK(edits_to(result.answers[0], "from_pretrained.load_in_4bit", "True"));
    expect_that_all_fit(question, result.answers[0]);
}

TEST_CASE("where nothing fits, the smallest run says what is missing", "[long]") {
    const CheckResult result = check(about(kLora, {"2GiB"}));
    REQUIRE(result.answers.size() == 1);
    const CheckAnswer& answer = result.answers[0];
    CHECK(answer.changes.empty());
    CHECK(answer.tried.size() > 4);
    REQUIRE(answer.smallest);
    CHECK(answer.smallest->spare < 0);
    CHECK(answer.smallest->reserved > answer.prediction.device.usable.count);
    REQUIRE(!answer.holds_smallest.empty());
    CheckQuestion again = about(kLora, {answer.holds_smallest});
    again.trainer.edits = answer.smallest->edits;
    CHECK(check(again).verdict == Verdict::fits);
}

TEST_CASE("with lengths, the longest row that fits is named") {
    std::string text = kLora;
    text.replace(text.find("pad_to_sequence_len: true"), 25, "pad_to_sequence_len: false");
    CheckQuestion question = about(text, {"16GiB"});
    question.trainer.lengths = {64, 128, 256, 1024, 2048, 4000};
    const CheckResult result = check(question);
    REQUIRE(result.answers[0].wall);
    CHECK(*result.answers[0].wall < 2048);
    question.trainer.lengths = {*result.answers[0].wall};
    CHECK(check(question).verdict == Verdict::fits);
}

TEST_CASE("what the libraries refuse stands at the key of the file") {
    std::string text = kLora;
    text.replace(text.find("lora_r: 16"), 10, "lora_r: 99999");
    try {
        check(about(text, {"80GiB"}));
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.problems().front().where == "a.yaml:6:1 lora_r");
    }
}

TEST_CASE("documents for CI systems name file, line and column") {
    const CheckResult refused = check(about(std::string(kLora) + "rl: ebft\n", {"80GiB"}));
    CHECK(refused.refused());
    CHECK(written_as("github", refused).find("::error file=a.yaml,line=11,col=1,title=vramfit%3A rl::") == 0);
    CHECK(
        written_as("junit", refused).find("<testcase classname=\"a.yaml\" name=\"rl\" file=\"a.yaml\" line=\"11\">") !=
        std::string::npos);
    const CheckResult large = check(about(kLora, {"8GiB"}));
    CHECK(written_as("github", large).find("::error file=a.yaml,line=4,col=1,title=vramfit%3A too large::") == 0);
    CHECK(written_as("junit", large).find("failures=\"1\"") != std::string::npos);
    CHECK(written_as("json", large).find("\"schema\": \"vramfit.check/1\"") != std::string::npos);
}
