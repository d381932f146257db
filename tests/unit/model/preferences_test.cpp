// DPO: its windows, its reference, and that batches which repeat are written as they would be run.
#include <algorithm>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "vramfit/alloc/replay.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "windows.hpp"

using namespace vramfit;
using vramfit::test::has_window;
using vramfit::test::most_requested_in;

namespace {

Job dpo_job(const std::string& more) {
    return read_job(R"({"schema": "vramfit.job/1", "model": {"model_type": "llama", "hidden_size": 128,
        "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 512}, "loop": {"kind": "dpo"}, "batch": {"prompt_length": 8, "completion_length": 24})" +
                        more + "}",
                    "job.json", {});
}

constexpr const char* kLora = R"(, "peft": {"r": 4, "target_modules": "all-linear", "lora_dropout": 0.1})";

}  // namespace

TEST_CASE("only full fine-tuning loads a reference, unless its scores are precomputed") {
    CHECK(has_window(dpo_job(""), "load_reference"));
    CHECK_FALSE(has_window(dpo_job(kLora), "load_reference"));
    const Job precomputed = dpo_job(R"(, "training": {"precompute_ref_log_probs": true})");
    CHECK_FALSE(has_window(precomputed, "load_reference"));
    CHECK(has_window(precomputed, "precompute_reference"));
    CHECK_FALSE(has_window(precomputed, "step0.reference_forward"));
    for (const char* window : {"step0.loss", "step1.reference_forward"}) {
        CHECK(has_window(dpo_job(""), window));
        CHECK(has_window(dpo_job(kLora), window));
    }
}

TEST_CASE("the adapters are trained although the reference runs without them") {
    const Job job = dpo_job(kLora);
    CHECK(program_of(job).trainable_parameters > 0);
    CHECK(has_window(job, "step0.backward.0"));
}

TEST_CASE("a longer prompt leaves less to score") {
    const Job job = dpo_job("");
    Job longer = job;
    longer.plan.batch.pairs.prompt = {20};
    CHECK(most_requested_in(longer, "step1.backward.loss") < most_requested_in(job, "step1.backward.loss"));
}

TEST_CASE("accumulated batches of pairs are written again as they would be run") {
    for (const char* more : {R"(, "training": {"gradient_accumulation_steps": 4, "bf16": true})",
                             R"(, "training": {"gradient_accumulation_steps": 4, "loss_type": ["ipo", "sft"]},
                                 "peft": {"r": 4, "target_modules": "all-linear"})"}) {
        const Job job = dpo_job(more);
        const Program again = model::record(job.model, job.plan, job.stack, job.device);
        const Program every = model::record_every_batch(job.model, job.plan, job.stack, job.device);
        REQUIRE(again.events.size() == every.events.size());
        CHECK(requested_peaks(again).back().end == requested_peaks(every).back().end);
        CHECK(most_requested(again) == most_requested(every));
    }
}

TEST_CASE("what DPOTrainer was not compared with is refused") {
    for (const char* more :
         {R"(, "stack": "unsloth-2026.10")",
          R"(, "training": {"eval_strategy": "steps"}, "evaluation": {"sequence_length": 64})",
          R"(, "peft": {"r": 4, "target_modules": ["q_proj"]}, "trl": {"peft_config": false})",
          R"(, "peft": {"r": 4, "target_modules": ["q_proj", "lm_head"]})",
          R"(, "peft": {"r": 4, "target_modules": ["q_proj"], "use_dora": true, "lora_dropout": 0.1})"}) {
        INFO(more);
        try {
            (void)program_of(dpo_job(more));
            FAIL("was not refused");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::unsupported);
        }
    }
}
