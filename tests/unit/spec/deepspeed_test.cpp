// DeepSpeed's configuration: what is read, what has no effect, what is refused.
#include "vramfit/spec/deepspeed.hpp"

#include <fmt/format.h>

#include "spec/job_deepspeed.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::test {

namespace {

ZeroPlan zero_of_text(const std::string& members) {
    return read_deepspeed_file(fmt::format("{{{}}}", members), "ds.json");
}

/// The kind of the refusal; nothing if the text is read.
std::optional<ErrorKind> refusal_of(const std::string& members) {
    try {
        (void)zero_of_text(members);
        return std::nullopt;
    } catch (const Error& error) {
        return error.kind();
    }
}

}  // namespace

TEST_CASE("DeepSpeed's configuration with Trainer's \"auto\"") {
    const ZeroPlan plan = zero_of_text(
        R"("zero_optimization": {"stage": 2, "overlap_comm": true, "reduce_bucket_size": "auto",
           "allgather_bucket_size": 2e8, "offload_optimizer": {"device": "cpu", "pin_memory": true}},
           "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "bf16": {"enabled": "auto"},
           "fp16": {"enabled": "auto", "loss_scale": 0}, "gradient_clipping": "auto", "train_batch_size": "auto",
           "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 4, "steps_per_print": 2000)");
    CHECK(plan.stage == 2);
    CHECK_FALSE(plan.reduce_bucket_size);
    CHECK(plan.overlap_comm == true);
    CHECK(plan.offload_optimizer);
    CHECK(plan.own_optimizer);
    CHECK_FALSE(plan.bf16);
    CHECK_FALSE(plan.fp16);
    CHECK_FALSE(plan.gradient_clipping);
    CHECK_FALSE(plan.clips_by_default);
    CHECK(plan.gradient_accumulation_steps == 4);
}

TEST_CASE("what a DeepSpeed file leaves out has DeepSpeed's default") {
    const ZeroPlan plan = zero_of_text(R"("zero_optimization": {"stage": 1, "reduce_bucket_size": 2e8})");
    CHECK(plan.reduce_bucket_size == 200'000'000);
    CHECK(plan.gradient_clipping == 1.0);
    CHECK(plan.clips_by_default);
    CHECK(plan.bf16 == false);
    CHECK(plan.fp16 == false);
    CHECK_FALSE(plan.own_optimizer);
}

TEST_CASE("what is read of a DeepSpeed file is written so that it is read as the same") {
    for (const char* members : {
             R"("zero_optimization": {"stage": 1, "stage3_param_persistence_threshold": "auto"})",
             R"("zero_optimization": {"stage": 2, "sub_group_size": 5, "stage3_max_live_parameters": 7})",
             R"("zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 0}, "bf16": {"enabled": true})",
         }) {
        const ZeroPlan plan = zero_of_text(members);
        CHECK(read_deepspeed_file(to_text(deepspeed_to_json(plan)), "again.json") == plan);
    }
}

TEST_CASE("DeepSpeed keys that are wrong, and those whose effect is not known") {
    const auto stage = [](const char* rest) { return fmt::format(R"("zero_optimization": {{"stage": 2{}}})", rest); };
    CHECK_FALSE(refusal_of(stage("")));
    CHECK(refusal_of(stage(R"(, "reduce_bucket_size": -1)")) == ErrorKind::invalid);
    CHECK(refusal_of(stage(R"(, "reduce_bucket_size": 0.5)")) == ErrorKind::invalid);
    CHECK(refusal_of(stage(R"(, "offload_param": {"device": "cpu"})")) == ErrorKind::invalid);
    CHECK(refusal_of(stage(R"(, "overlap_com": true)")) == ErrorKind::invalid);
    CHECK(refusal_of(R"("zero_optimization": {"stage": 4})") == ErrorKind::invalid);
    CHECK(refusal_of(R"("zero_optimization": {"stage": 0})") == ErrorKind::unsupported);
    CHECK(refusal_of(R"("steps_per_print": 1)") == ErrorKind::unsupported);
    CHECK(refusal_of(stage(R"(, "round_robin_gradients": true)")) == ErrorKind::unsupported);
    CHECK(refusal_of(stage(R"(, "offload_optimizer": {"device": "nvme"})")) == ErrorKind::unsupported);
    CHECK(refusal_of(stage("") + R"(, "optimizer": {"type": "Lamb"})") == ErrorKind::invalid);
    CHECK(refusal_of(stage("") + R"(, "optimizer": {"type": "Lamb"}, "zero_allow_untested_optimizer": true)") ==
          ErrorKind::unsupported);
    CHECK(refusal_of(stage("") + R"(, "fp16": {"enabled": true, "auto_cast": true})") == ErrorKind::unsupported);
    CHECK(refusal_of(stage("") + R"(, "data_types": {"grad_accum_dtype": "fp32"})") == ErrorKind::unsupported);
}

}  // namespace vramfit::test
