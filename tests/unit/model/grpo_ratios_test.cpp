// GRPO and RLOO: what is drawn from, completions that are cut, ratios of tokens and of completions, further losses.
#include <algorithm>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/pair_rows.hpp"

using namespace vramfit;

namespace {

const std::string kShortRows = R"("prompt_length": 6, "completion_length": 8)";

Job ratios_job(const std::string& training, const std::string& batch = kShortRows, const std::string& kind = "grpo") {
    return read_job(R"({"schema": "vramfit.job/1", "model": {"model_type": "llama", "hidden_size": 128,
        "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 512}, "loop": {"kind": ")" +
                        kind + R"("}, "training": {"per_device_train_batch_size": 4, "num_generations": 2)" + training +
                        R"(}, "load": {"dtype": "bfloat16"}, "batch": {)" + batch +
                        R"(}, "peft": {"r": 4, "target_modules": "all-linear"}})",
                    "job.json", {});
}

/// Allocations of so many bytes in all windows of the name.
std::int64_t made_in(const Job& job, const std::string& window, std::int64_t bytes) {
    const Program program = program_of(job);
    std::int64_t count = 0;
    for (std::size_t i = 0; i < program.windows.size(); ++i) {
        if (name_of(program.windows[i].phase) != window) continue;
        const std::size_t end =
            i + 1 < program.windows.size() ? program.windows[i + 1].first_event : program.events.size();
        for (std::size_t e = program.windows[i].first_event; e < end; ++e) {
            const Event& event = program.events[e];
            if (event.kind == EventKind::alloc && program.allocations[event.id].bytes == bytes) ++count;
        }
    }
    return count;
}

std::int64_t more_of(const std::string& training, const std::string& window, std::int64_t bytes) {
    return made_in(ratios_job(training), window, bytes) - made_in(ratios_job(""), window, bytes);
}

}  // namespace

// transformers 5.17 generation/logits_process.py RepetitionPenaltyLogitsProcessor.__call__.
TEST_CASE("a penalty for repetition copies the scores of each token, and those of the tokens so far") {
    const std::string penalty = R"(, "repetition_penalty": 1.1)";
    CHECK(more_of(penalty, "step1.generation", 4 * 512 * 4) == 8);  // 4 rows of the vocabulary
    // Gathered, times and by the penalty, and one of both: of 4 rows with 11 tokens, which one of the steps has.
    CHECK(more_of(penalty, "step1.generation", 4 * 11 * 4) >= 4);
    CHECK(ratios_job(R"(, "repetition_penalty": 1)").plan == ratios_job("").plan);
    CHECK_THROWS_AS(ratios_job(R"(, "repetition_penalty": 0.0)"), Error);
    CHECK_THROWS_AS(ratios_job(R"(, "repetition_penalty": 2)"), Error);
}

// The same, TopKLogitsWarper, TopPLogitsWarper, MinPLogitsWarper: each makes the scores anew.
TEST_CASE("tokens that are drawn from some of all have their scores made anew for each limit") {
    constexpr std::int64_t kScores = 4 * 512 * 4;
    CHECK(more_of(R"(, "top_k": 20)", "step1.generation", kScores) == 8);
    CHECK(more_of(R"(, "min_p": 0.1)", "step1.generation", kScores) == 2 * 8);  // and as probabilities
    CHECK(more_of(R"(, "top_p": 0.9)", "step1.generation", kScores) == 4 * 8);  // in order, and their sums
    CHECK(more_of(R"(, "top_p": 0.9)", "step1.generation", 2 * kScores) == 8);  // places
    CHECK(ratios_job(R"(, "top_k": 0, "top_p": 1.0, "min_p": null)").plan == ratios_job("").plan);
    CHECK(ratios_job(R"(, "top_k": 20, "top_p": 0.9, "min_p": 0.1, "use_vllm": true)").plan.preference.grpo.top_k == 0);
    CHECK_THROWS_AS(ratios_job(R"(, "top_p": 1.5)"), Error);
    CHECK_THROWS_AS(ratios_job(R"(, "top_k": -1)"), Error);
}

// trl 1.16 callbacks.py SyncRefModelCallback.
TEST_CASE("a reference that follows the policy takes no memory, and there has to be one") {
    const std::string synced = R"(, "beta": 0.1, "sync_ref_model": true)";
    const auto of_all_weights = [](const std::string& training) {
        Job job = ratios_job(training);
        job.plan.peft.reset();
        return job;
    };
    CHECK(program_of(of_all_weights(synced)).events.size() ==
          program_of(of_all_weights(R"(, "beta": 0.1)")).events.size());
    for (const Job& job : {of_all_weights(R"(, "sync_ref_model": true)"), ratios_job(synced)}) {
        std::string where;
        try {
            (void)program_of(job);
        } catch (const Error& error) {
            where = error.problems().front().where;
        }
        CHECK(where == "training.sync_ref_model");
    }
}

// trl 1.16 grpo_trainer.py _generate_and_score_completions.
TEST_CASE("completions that are cut are masked, which rows of unknown length have") {
    const std::string masked = R"(, "mask_truncated_completions": true)";
    CHECK(more_of(masked, "step1.inputs", 4 * 8 * 8) == 1);  // the mask times what is kept
    Job one = ratios_job(masked, R"("prompt_length": 1, "completion_length": 1, "padded": true)");
    CHECK(group_rows(one.plan).pads);
    one.plan.preference.grpo.masks_truncated = false;
    CHECK_FALSE(group_rows(one.plan).pads);
    CHECK(ratios_job(masked, kShortRows, "rloo").plan.preference.grpo.masks_truncated);
}

TEST_CASE("ratios of completions have one value for each") {
    const auto loss_end = [](const std::string& training) {
        for (const WindowLevels& window : timeline(ratios_job(training)).windows)
            if (name_of(window.phase) == "step1.loss") return window.end.requested;
        return std::int64_t{0};
    };
    const std::string sequence = R"(, "importance_sampling_level": "sequence")";
    CHECK(loss_end(sequence) < loss_end(""));
    CHECK(loss_end(sequence + R"(, "beta": 0.1)") < loss_end(R"(, "beta": 0.1)"));
    CHECK_THROWS_AS(ratios_job(R"(, "importance_sampling_level": "row")"), Error);
    CHECK_THROWS_AS(ratios_job(sequence, kShortRows, "rloo"), Error);
}

TEST_CASE("each loss of GRPOConfig is another program") {
    std::vector<std::size_t> events;
    for (const char* loss : {"dapo", "grpo", "bnpo", "dr_grpo", "cispo", "sapo", "luspo", "vespo"}) {
        const Job job = ratios_job(R"(, "loss_type": ")" + std::string(loss) + R"(", "delta": 4.0, "beta": 0.1)");
        events.push_back(program_of(job).events.size());
        CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    }
    std::sort(events.begin(), events.end());
    CHECK(std::unique(events.begin(), events.end()) - events.begin() >= 6);
    CHECK(program_of(ratios_job(R"(, "beta": 0.1, "use_bias_correction_kl": false)")).events.size() <
          program_of(ratios_job(R"(, "beta": 0.1)")).events.size());
    CHECK(program_of(ratios_job(R"(, "delta": 4.0)")).events.size() > program_of(ratios_job("")).events.size());
}

TEST_CASE("what of sampling, masks and ratios a job says is written as it was read") {
    const Job job = ratios_job(R"(, "top_k": 7, "top_p": 0.5, "min_p": 0.1, "beta": 0.1, "sync_ref_model": true,
        "repetition_penalty": 1.3, "mask_truncated_completions": true, "delta": 2.0,
        "importance_sampling_level": "sequence", "use_bias_correction_kl": false, "loss_type": "luspo")");
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
}
