// Job files of Unsloth's loop: what its keys mean, and what was not compared is refused by name.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;

namespace {

constexpr const char* kLora =
    R"("peft": {"peft_type": "LORA", "r": 16, "lora_alpha": 16, "lora_dropout": 0, "target_modules":
       ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]})";

/// A job of the loop with these members beside, or in place of, the adapters.
Job unsloth_job(const std::string& members, const std::string& training = R"("bf16": true)") {
    return read_job(fmt::format(R"({{"schema": "vramfit.job/1", "model": "llama-3.2-1b", "stack": "unsloth-2026.10",
                                    "loop": {{"kind": "unsloth"}}, "batch": {{"sequence_length": 256}},
                                    "training": {{{}}}, {}}})",
                                training, members),
                    "job.json", {});
}

/// The first problem that the reader or the plan's check has; empty: none.
std::string refused_at(const std::string& members, const std::string& training = R"("bf16": true)") {
    try {
        const Job job = unsloth_job(members, training);
        (void)PlanChecker(job.model, job.stack).check(job.plan);
    } catch (const Error& error) {
        return error.problems().at(0).where;
    }
    return "";
}

std::string told(const char* unsloth) { return fmt::format(R"({}, "unsloth": {})", kLora, unsloth); }

}  // namespace

TEST_CASE("a job of Unsloth loads in 4 bits with double quantization unless it says otherwise") {
    const Job job = unsloth_job(kLora);
    REQUIRE(job.plan.load.quantization);
    CHECK(job.plan.load.quantization->double_quant);
    CHECK(job.plan.load.quantization->compute_dtype == DType::bfloat16);
    CHECK(job.plan.unsloth.checkpointing == UnslothCheckpointing::offloaded);
    CHECK_FALSE(unsloth_job(told(R"({"load_in_4bit": false})")).plan.load.quantization);
    CHECK(unsloth_job(kLora, R"("fp16": true)").plan.load.dtype == DType::float16);
    CHECK(refused_at(kLora) == "");
}

TEST_CASE("a job of Unsloth is written as it was read") {
    for (const char* unsloth :
         {"{}", R"({"load_in_4bit": false, "max_seq_length": 512})", R"({"use_gradient_checkpointing": true})"}) {
        const Job job = unsloth_job(told(unsloth));
        CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    }
}

TEST_CASE("padded rows are read and written with the arguments of training") {
    const Job job = unsloth_job(kLora, R"("bf16": true, "padding_free": false)");
    CHECK_FALSE(job.plan.unsloth.padding_free);
    CHECK(unsloth_job(kLora).plan.unsloth.padding_free);
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    CHECK(refused_at(kLora, R"("bf16": true, "padding_free": false)") == "");
}

TEST_CASE("what Unsloth's step was not compared with is refused where it stands") {
    CHECK(refused_at(told(R"({"full_finetuning": true})")) == "job.json /unsloth/full_finetuning");
    CHECK(refused_at(told(R"({"use_gradient_checkpointing": false})")) ==
          "job.json /unsloth/use_gradient_checkpointing");
    CHECK(refused_at(told(R"({"max_seq_length": 128})")) == "unsloth.max_seq_length");
    CHECK(refused_at(kLora, R"("bf16": true, "packing": true)") == "job.json /training/packing");
    CHECK(refused_at(kLora, "") == "training.bf16");
    CHECK(refused_at(R"("peft": null, "unsloth": {"load_in_4bit": false})") == "peft");
    CHECK(refused_at(R"("peft": {"peft_type": "LORA", "target_modules": ["q_proj", "up_proj"]})") ==
          "peft.target_modules");
}
