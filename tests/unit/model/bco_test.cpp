// BCO: what is held, the reference, scores before training, and what is refused.
#include "model/record.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "windows.hpp"

using namespace vramfit;
using vramfit::test::has_window;
using vramfit::test::most_requested_in;
using vramfit::test::reason_of;

namespace {

Job bco_job(const std::string& training, const std::string& batch = "", const std::string& more = "",
            const std::string& stack = "axolotl-0.19") {
    return read_job(R"({"schema": "vramfit.job/1", "stack": ")" + stack + R"(", "model": {"model_type": "llama",
        "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 32000}, "load": {"dtype": "float32"}, "loop": {"kind": "bco"},
        "batch": {)" + batch +
                        R"(}, "training": {"per_device_train_batch_size": 2)" + training + "}" + more + "}",
                    "job.json", {});
}

constexpr const char* kBcoLora = R"(, "peft": {"r": 4, "target_modules": ["q_proj", "v_proj"]})";
/// A row of 64 tokens in float32.
constexpr std::int64_t kRowLogits = std::int64_t{64} * 32000 * 4;

}  // namespace

// forward(): completion_logits[chosen_idx, ...]; the reference's rejected ones stay in `_`.
TEST_CASE("BCO holds the policy's logits twice and those of the reference's rejected rows") {
    CHECK(most_requested_in(bco_job("", "", kBcoLora), "step1.loss") > 5 * kRowLogits);
    const auto with = [](const char* labels) {
        return most_requested_in(bco_job("", R"("desirable": )" + std::string(labels), kBcoLora), "step1.loss");
    };
    CHECK(with("[false]") > with("[true]"));
}

TEST_CASE("BCO's reference is a copy of the policy, or the policy without its adapters") {
    CHECK(has_window(bco_job(""), "load_reference"));
    CHECK_FALSE(has_window(bco_job("", "", kBcoLora), "load_reference"));
    CHECK(has_window(bco_job("", "", kBcoLora), "step1.reference_forward"));
    const Job given = bco_job("", "", std::string(kBcoLora) + R"(, "trl": {"peft_config": false})");
    CHECK(reason_of(given, ErrorKind::unsupported).empty());
}

// get_train_dataloader, behind the constructor.
TEST_CASE("BCO scores the data where training begins") {
    const Program program = program_of(bco_job(R"(, "precompute_ref_log_probs": true)"));
    std::vector<std::string> names;
    for (const Window& window : program.windows) names.push_back(name_of(window.phase));
    const auto at = std::find(names.begin(), names.end(), "precompute_reference");
    REQUIRE(at != names.end());
    CHECK(*(at - 1) == "trainer");
    CHECK(*(at + 1) == "step0.inputs");
    CHECK(std::find(names.begin(), names.end(), "step0.reference_forward") == names.end());
}

TEST_CASE("accumulated batches of BCO are written again as they would be run") {
    const Job job = bco_job(R"(, "gradient_accumulation_steps": 4)");
    const Program again = model::record(job.model, job.plan, job.stack, job.device);
    const Program every = model::record_every_batch(job.model, job.plan, job.stack, job.device);
    REQUIRE(again.events.size() == every.events.size());
    CHECK(most_requested(again) == most_requested(every));
}

TEST_CASE("what trl and torch stop at in BCO is refused") {
    const auto refused = [](const Job& job, const char* words) {
        return reason_of(job, ErrorKind::unsupported).find(words) != std::string::npos;
    };
    CHECK(refused(bco_job("", R"("completion_length": [1, 8])"), "list index out of range"));
    CHECK(refused(bco_job(R"(, "eval_strategy": "steps", "eval_on_start": true)"), "mean()"));
    CHECK(refused(bco_job(R"(, "eval_strategy": "steps", "precompute_ref_log_probs": true)"), "get_eval_dataloader"));
    CHECK(refused(bco_job("", R"("desirable": [true, true, false])"), "3 labels for batches of 2 rows"));
    const std::string packed = R"(, "load": {"dtype": "bfloat16", "quantization_config": {"load_in_4bit": true}})";
    CHECK(refused(read_job(R"({"schema": "vramfit.job/1", "stack": "axolotl-0.19", "model": "smollm2-135m",
        "loop": {"kind": "bco"}, "training": {"per_device_train_batch_size": 2, "bf16": true,
        "precompute_ref_log_probs": true})" +
                               packed + kBcoLora + "}",
                           "job.json", {}),
                  "the reference scores without autocast"));
    CHECK(refused(bco_job("", "", "", "hf-2026-11"), "trl 1.16.0 has no BCOTrainer"));
    CHECK(reason_of(bco_job("", "", "", "swift-4.6"), ErrorKind::unsupported).empty());
}

TEST_CASE("the longest and the shortest completion of a batch") {
    const Job job = bco_job("", R"("prompt_length": [8, 3], "completion_length": [4, 20])");
    const CompletionLengths lengths = completion_lengths(job.plan.batch);
    CHECK(lengths.longest == 20);
    CHECK(lengths.shortest == 4);
    CHECK(job.plan.batch.sequence_length == 23);
}
