// Networks beside the one that is trained: reward models of GRPO and RLOO, the teacher of GKD.
#include <algorithm>
#include <cstdlib>

#include "model/record.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;
using vramfit::test::reason_of;

namespace {

const std::string kSizesOfSecond = R"("hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512)";
const std::string kPolicy = R"({"model_type": "llama", )" + kSizesOfSecond + "}";
const std::string kTiedQwen =
    R"({"model_type": "qwen2", "tie_word_embeddings": true, "dtype": "bfloat16", )" + kSizesOfSecond + "}";

Job rewarded(const std::string& loop, const std::string& training = "", const std::string& more = "") {
    return read_job(R"({"schema": "vramfit.job/1", "model": )" + kPolicy + R"(, "loop": {"kind": "grpo")" + loop +
                        R"(}, "training": {"per_device_train_batch_size": 4, "num_generations": 2)" + training +
                        R"(}, "load": {"dtype": "bfloat16"}, "batch": {"prompt_length": 6, "completion_length": 8})" +
                        more + "}",
                    "job.json", {});
}

std::string models(const std::string& more = "", const std::string& model = kTiedQwen) {
    return R"(, "reward_models": [{"model": )" + model + more + "}]";
}

Job distilling(const std::string& training = "", const std::string& teacher = kTiedQwen,
               const std::string& batch = R"("prompt_length": 6, "completion_length": 8)") {
    return read_job(R"({"schema": "vramfit.job/1", "model": )" + kPolicy +
                        R"(, "loop": {"kind": "gkd", "teacher": {"model": )" + teacher +
                        R"(}}, "training": {"per_device_train_batch_size": 2)" + training +
                        R"(}, "load": {"dtype": "bfloat16"}, "batch": {)" + batch + "}}",
                    "job.json", {});
}

std::int64_t bytes_of(const Program& program, Category category) {
    std::int64_t bytes = 0;
    for (const Allocation& a : program.allocations) bytes += a.category == category ? a.bytes : 0;
    return bytes;
}

std::int64_t count_of(const Program& program, const std::string& name) {
    return std::count_if(program.windows.begin(), program.windows.end(),
                         [&](const Window& window) { return name_of(window.phase) == name; });
}

std::int64_t peak_of(const Job& job, PhaseKind kind) {
    std::int64_t peak = 0;
    for (const WindowLevels& window : timeline(job).windows)
        if (window.phase.kind == kind) peak = std::max(peak, window.peak.requested);
    return peak;
}

/// Tied qwen2 with a head of one number: embedding, two layers with biases of q, k and v, norms.
constexpr std::int64_t kQwenNumbers =
    512 * 128 + 2 * (2 * 128 * 128 + 2 * 64 * 128 + 128 + 64 + 64 + 3 * 128 * 256 + 2 * 128) + 128 + 128;
constexpr std::int64_t kRotary = 2 * 16 * 4;  // transformers 5: the frequencies and their original

}  // namespace

TEST_CASE("a reward model's weights are a category of their own, all of them") {
    const Program program = program_of(rewarded(models()));
    CHECK(bytes_of(program, Category::reward_models) == 2 * kQwenNumbers + kRotary);
    CHECK(count_of(program, "load_reward") == 1);
    CHECK(program.total_parameters == program_of(rewarded("")).total_parameters);
    CHECK(bytes_of(program_of(rewarded("")), Category::reward_models) == 0);
}

TEST_CASE("a reward model is loaded in the checkpoint's dtype unless one is said") {
    CHECK(bytes_of(program_of(rewarded(models(R"(, "dtype": "float32")"))), Category::reward_models) ==
          4 * kQwenNumbers + kRotary);
    const std::string unsaid = R"({"model_type": "qwen2", "tie_word_embeddings": true, )" + kSizesOfSecond + "}";
    CHECK(bytes_of(program_of(rewarded(models("", unsaid))), Category::reward_models) == 4 * kQwenNumbers + kRotary);
}

TEST_CASE("reward models run while rewards are given, one after the other") {
    const std::string two = R"(, "reward_models": [{"model": )" + kTiedQwen + R"(}, {"model": )" + kTiedQwen + "}]";
    CHECK(count_of(program_of(rewarded(two)), "load_reward") == 2);
    const std::int64_t none = peak_of(rewarded(""), PhaseKind::reward),
                       one = peak_of(rewarded(models()), PhaseKind::reward);
    const std::int64_t both = peak_of(rewarded(two), PhaseKind::reward);
    CHECK(one > none + 2 * kQwenNumbers);
    CHECK(both - one == Approx(2 * kQwenNumbers).margin(1000));
}

TEST_CASE("a trainer that makes no adapters is given its reward models as well") {
    const Job job = rewarded(models(), "", R"(, "trl": {"peft_config": false})");
    CHECK(bytes_of(program_of(job), Category::reward_models) == 2 * kQwenNumbers + kRotary);
    CHECK(peak_of(job, PhaseKind::reward) == peak_of(rewarded(models()), PhaseKind::reward));
}

TEST_CASE("rows of a reward model are as long as is said, else as the policy's without the end") {
    const std::int64_t as_policy = peak_of(rewarded(models()), PhaseKind::reward);
    CHECK(peak_of(rewarded(models(R"(, "sequence_length": 13)")), PhaseKind::reward) == as_policy);
    CHECK(peak_of(rewarded(models(R"(, "sequence_length": 64)")), PhaseKind::reward) > as_policy);
    // A completion that reaches the limit has no end.
    const Job at_limit = rewarded(models(), R"(, "max_completion_length": 8)");
    CHECK(peak_of(at_limit, PhaseKind::reward) ==
          peak_of(rewarded(models(R"(, "sequence_length": 14)")), PhaseKind::reward));
}

TEST_CASE("a job with reward models reads back as the same job") {
    for (const Job& job :
         {rewarded(models(R"(, "dtype": "float16", "device_map": {"": 0})") + R"(, "reward_functions": 2)"),
          rewarded(R"(, "reward_functions": 3)"), distilling(R"(, "lmbda": 1, "beta": 0, "seq_kd": true)")}) {
        const Job again = read_job(to_json_text(job), "again.json", {});
        CHECK(again.plan == job.plan);
    }
}

TEST_CASE("what has no place beside the trained network is bad input") {
    const auto stops_at = [](const Job& job) { return reason_of(job, ErrorKind::invalid); };
    CHECK_THROWS_AS(read_job(R"({"schema": "vramfit.job/1", "model": )" + kPolicy +
                                 R"(, "loop": {"kind": "grpo", "reward_models": [{"dtype": "bfloat16"}]}})",
                             "job.json", {}),
                    Error);
    CHECK(stops_at(rewarded(R"(, "reward_functions": 0)")).find("no reward source") != std::string::npos);
    Job elsewhere = rewarded(models());
    elsewhere.plan.loop.kind = LoopKind::dpo;
    CHECK(stops_at(elsewhere).find("only GRPO, RLOO, online DPO and PPO") != std::string::npos);
    const std::string other_words =
        R"({"model_type": "qwen2", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 600})";
    CHECK(stops_at(distilling("", other_words)).find("vocab_size 600") != std::string::npos);
    CHECK(stops_at(distilling(R"(, "max_new_tokens": 4)", kTiedQwen,
                              R"("prompt_length": 6, "completion_length": 8, "generated_length": 5)"))
              .find("max_new_tokens") != std::string::npos);
}

TEST_CASE("each step of GKD has a teacher's forward, and generates by lmbda") {
    const Program off = program_of(distilling(R"(, "lmbda": 0)"));
    CHECK(count_of(off, "step1.teacher_forward") == 1);
    CHECK(count_of(off, "step1.generation") == 0);
    CHECK(count_of(program_of(distilling(R"(, "lmbda": 1)")), "step1.generation") == 1);
    const Program both = program_of(distilling());  // trl's 0.5
    CHECK(count_of(both, "step2.generation") == 1);
    CHECK(count_of(both, "step3.generation") == 0);
    CHECK(count_of(both, "step3.teacher_forward") == 1);
    CHECK(count_of(program_of(distilling(R"(, "lmbda": 0, "seq_kd": true)")), "step1.generation") == 1);
}

TEST_CASE("what the policy keeps is no loss behind the forward of a second network") {
    const auto kept_in = [](const Job& job) {
        std::int64_t bytes = 0;
        for (const Allocation& a : program_of(job).allocations)
            bytes += a.category == Category::stored_activations ? a.bytes : 0;
        return bytes;
    };
    CHECK(kept_in(rewarded(models())) == kept_in(rewarded("")));
    const std::string same_length = R"("prompt_length": 6, "completion_length": 8, "generated_length": 8)";
    // Tokens that are generated are kept as what they were made by.
    const std::int64_t generated = kept_in(distilling(R"(, "lmbda": 1)", kTiedQwen, same_length));
    CHECK(std::abs(generated - kept_in(distilling(R"(, "lmbda": 0)", kTiedQwen, same_length))) < 1000);
}

TEST_CASE("a mixture of both distributions needs more than one of them") {
    const auto peak = [](const std::string& beta) {
        return peak_of(distilling(R"(, "lmbda": 0, "beta": )" + beta), PhaseKind::loss);
    };
    CHECK(peak("0.5") > peak("0"));
    CHECK(peak("0.5") > peak("1"));
}

TEST_CASE("a teacher's weights are a category of their own") {
    const Program program = program_of(distilling(R"(, "lmbda": 0)"));
    CHECK(bytes_of(program, Category::teacher) == 2 * (kQwenNumbers - 128) + kRotary);  // without a head of its own
    CHECK(count_of(program, "load_teacher") == 1);
}
