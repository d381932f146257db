// PPO: what is held, which networks there are, the order of windows, and what is refused.
#include <algorithm>

#include "model/record.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "windows.hpp"

using namespace vramfit;
using vramfit::test::has_window;
using vramfit::test::most_requested_in;
using vramfit::test::reason_of;

namespace {

constexpr const char* kPpoModel = R"({"model_type": "llama", "hidden_size": 128, "intermediate_size": 256,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 32000})";

Job ppo_job(const std::string& training, const std::string& more = "", const std::string& loop = "",
            const std::string& stack = "axolotl-0.19") {
    const std::string model = kPpoModel, beside = R"({"dtype": "float32", "model": )" + model + "}";
    return read_job(R"({"schema": "vramfit.job/1", "stack": ")" + stack + R"(", "model": )" + model +
                        R"(, "load": {"dtype": "float32"}, "loop": {"kind": "ppo", "reward_models": [)" + beside +
                        R"(], "value_model": )" + beside + loop +
                        R"(}, "batch": {"prompt_length": 16}, "training": {"per_device_train_batch_size": 2,
                        "gradient_accumulation_steps": 2, "num_ppo_epochs": 1, "response_length": 8)" +
                        training + "}" + more + "}",
                    "job.json", {});
}

constexpr const char* kPpoLora = R"(, "peft": {"r": 4, "target_modules": ["q_proj", "v_proj"]})";
/// What the tokens of a rollout are drawn from: 4 rows of 8 tokens in float32.
constexpr std::int64_t kScores = std::int64_t{4} * 8 * 32000 * 4;

std::vector<std::string> windows_of(const Job& job) {
    std::vector<std::string> names;
    for (const Window& window : program_of(job).windows) names.push_back(name_of(window.phase));
    return names;
}

}  // namespace

// trl 1.9 experimental/ppo/ppo_trainer.py batch_generation: pad() makes a copy of all pieces.
TEST_CASE("PPO's rollout holds its scores twice") {
    CHECK(most_requested_in(ppo_job("", kPpoLora), "step0.micro0.generation") > 2 * kScores);
}

TEST_CASE("PPO's value model runs in front of the policy, and backward behind it") {
    const std::vector<std::string> names = windows_of(ppo_job(""));
    const auto at = [&](const char* name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
    const auto end = static_cast<std::ptrdiff_t>(names.size());
    REQUIRE(at("step0.micro1.backward.value") < end);
    CHECK(at("step0.micro1.value_forward") < at("step0.micro1.embedding"));
    CHECK(at("step0.micro1.backward.embedding") < at("step0.micro1.backward.value"));
    CHECK(at("load_reference") < at("load_value"));
    CHECK(at("load_value") < at("load_reward"));
}

TEST_CASE("PPO's reference is a copy, one that is given, or the policy without its adapters") {
    const std::vector<std::string> names = windows_of(ppo_job("", "", R"(, "ref_model": true)"));
    CHECK(std::find(names.begin(), names.end(), "load_value") <
          std::find(names.begin(), names.end(), "load_reference"));
    CHECK_FALSE(has_window(ppo_job("", kPpoLora), "load_reference"));
    CHECK(has_window(ppo_job("", kPpoLora), "step1.micro0.reference_forward"));
}

// PPOTrainer.train has a loop of its own, and its Accelerator no mixed precision.
TEST_CASE("PPO's arguments turn on neither checkpointing nor autocast") {
    const auto most = [](const char* training, const char* more) {
        return most_requested_in(ppo_job(training, more), "step1.micro1.backward.loss");
    };
    const auto asked = most(R"(, "gradient_checkpointing": true, "bf16": true)", "");
    CHECK(asked == most("", ""));
}

TEST_CASE("What PPO was not compared with is refused") {
    const auto unsupported = [](const Job& job, const char* words) {
        return reason_of(job, ErrorKind::unsupported).find(words) != std::string::npos;
    };
    CHECK(reason_of(ppo_job(""), ErrorKind::unsupported).empty());
    CHECK(unsupported(ppo_job("", "", "", "hf-2026-11"), "trl 1.16.0 has no PPOTrainer"));
    CHECK(unsupported(ppo_job("", "", "", "swift-4.6"), "PPOTrainer of trl 0.29.1"));
    CHECK(unsupported(ppo_job("", std::string(kPpoLora) + R"(, "trl": {"peft_config": false})"), "adapters already"));
    CHECK(unsupported(ppo_job("", R"(, "prepare_kbit": {})"), "prepare_model_for_kbit_training"));
    CHECK(unsupported(ppo_job(R"(, "use_liger_kernel": true)"), "kernels"));
    CHECK(unsupported(ppo_job(R"(, "num_mini_batches": 4)"), "whole number"));
}

TEST_CASE("What PPOTrainer stops at is invalid") {
    CHECK_FALSE(reason_of(ppo_job(R"(, "num_mini_batches": 3)"), ErrorKind::invalid).empty());
    CHECK_FALSE(reason_of(ppo_job(R"(, "whiten_rewards": true)"), ErrorKind::invalid).empty());
    CHECK_THROWS_AS(ppo_job(R"(, "kl_estimator": "k2")"), Error);
    CHECK_THROWS_AS(ppo_job(R"(, "stop_token": "newline")"), Error);
}
