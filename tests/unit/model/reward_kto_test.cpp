// Reward models and KTO: the head that classifies, the KL term's rows, labels, and what is refused.
#include <algorithm>

#include "model/record.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/alloc/replay.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "windows.hpp"

using namespace vramfit;
using vramfit::test::has_window;
using vramfit::test::reason_of;

namespace {

Job job_of(const std::string& kind, const std::string& training, const std::string& more = "",
           const std::string& model_type = "llama") {
    return read_job(R"({"schema": "vramfit.job/1", "model": {"model_type": ")" + model_type +
                        R"(", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512}, "loop": {"kind": ")" +
                        kind + R"("}, "training": {)" + training + "}" + more + "}",
                    "job.json", {});
}

}  // namespace

TEST_CASE("a reward model has one number for each row in place of the logits") {
    const Job job = job_of("reward", "");
    const std::int64_t head = 128 * 512;
    const Job dpo = job_of("dpo", "");
    CHECK(program_of(job).total_parameters == program_of(dpo).total_parameters - head + 128);
    CHECK_FALSE(has_window(job, "load_reference"));
    CHECK(has_window(job, "step1.loss"));
}

// peft: modules_to_save = ["classifier", "score"].
TEST_CASE("the head of a reward model is trained beside its adapters") {
    const std::string peft = R"(, "peft": {"r": 4, "target_modules": ["q_proj"]})";
    const std::int64_t adapters = 2 * (4 * 128 + 128 * 4);
    CHECK(program_of(job_of("reward", "", peft)).trainable_parameters == adapters + 128);
    CHECK(program_of(job_of("kto", R"("per_device_train_batch_size": 2)", peft)).trainable_parameters == adapters);
}

TEST_CASE("KTO runs the KL term's rows through the policy and the reference") {
    const std::string two = R"("per_device_train_batch_size": 2)";
    CHECK(has_window(job_of("kto", two), "step1.kl_forward"));
    CHECK(has_window(job_of("kto", two), "load_reference"));
    CHECK(has_window(job_of("kto", two + R"(, "precompute_ref_log_probs": true)"), "precompute_reference"));
    const auto allocations = [&](const std::string& loss) {
        const Job job = job_of("kto", two + R"(, "loss_type": ")" + loss + "\"");
        return program_of(job).events.size();
    };
    CHECK(allocations("apo_zero_unpaired") < allocations("kto"));
}

TEST_CASE("accumulated batches of rewards and of KTO are written again as they would be run") {
    for (const char* kind : {"reward", "kto"}) {
        const Job job = job_of(kind, R"("gradient_accumulation_steps": 4, "per_device_train_batch_size": 2)");
        const Program again = model::record(job.model, job.plan, job.stack, job.device);
        const Program every = model::record_every_batch(job.model, job.plan, job.stack, job.device);
        REQUIRE(again.events.size() == every.events.size());
        CHECK(most_requested(again) == most_requested(every));
    }
}

TEST_CASE("what trl and transformers refuse of reward models and KTO is refused in their words") {
    CHECK(reason_of(job_of("kto", ""), ErrorKind::invalid).find("batch size must be > 1") != std::string::npos);
    CHECK(reason_of(job_of("kto", R"("loss_type": "apo_zero_unpaired")", R"(, "batch": {"desirable": [true]})"),
                    ErrorKind::invalid) == "");
    CHECK(reason_of(job_of("kto", R"("per_device_train_batch_size": 3)"), ErrorKind::unsupported)
              .find("2 labels for batches of 3 rows") != std::string::npos);
    CHECK(reason_of(job_of("kto", R"("per_device_train_batch_size": 3)", R"(, "batch": {"desirable": [true]})"),
                    ErrorKind::invalid) == "");
    CHECK(reason_of(job_of("reward", "", "", "granite"), ErrorKind::unsupported)
              .find("AutoModelForSequenceClassification") != std::string::npos);
    const std::string packed = R"(, "load": {"dtype": "float32", "quantization_config": {"load_in_4bit": true}},
                                  "peft": {"r": 4, "target_modules": ["q_proj"]})";
    CHECK(reason_of(job_of("reward", "", packed), ErrorKind::invalid).find("mat1 and mat2") != std::string::npos);
    CHECK(reason_of(job_of("reward", R"("bf16": true)", packed), ErrorKind::invalid) == "");
}
