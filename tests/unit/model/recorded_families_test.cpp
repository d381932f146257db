// Every family that is written by hand, and its recording: the same events for the same question.
#include "support/catch.hpp"
#include "support/recordings.hpp"
#include "support/sanitized.hpp"
#include "support/story.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;

namespace {

/// What is not compared. A recomputation of a checkpointed unit stops where all that was saved is there again: in which
/// order the frames' variables go then is none of the language, and of these layers the last module is left in the
/// middle. Nemotron's norm asks for autocast, so its program is recorded for its own sizes only.
bool is_left_out(std::string_view type, std::string_view option) {
    if (type == "nemotron") return option.ends_with("mixed precision");
    // gpt_oss has no sdpa; qwen2_moe was recorded with a window that all rows reach.
    if (option.starts_with("flash attention") && (type == "gpt_oss" || type == "qwen2_moe")) return true;
    if (option != "checkpointing") return false;
    for (const std::string_view one : {"gemma2", "gemma3_text", "glm4", "mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss"})
        if (type == one) return true;
    return false;
}

struct Option {
    std::string_view name;
    void (*set)(Job& job);
};

void quantized(Job& job) {
    test::with_lora(job);
    job.plan.load.quantization.emplace();
}

void with_flash_attention(Job& job) {
    job.plan.load.attention = AttentionImplementation::flash_attention_2;
    job.plan.batch.attention_mask = AttentionMask::ones;
}

constexpr Option kOptions[] = {
    {"full", [](Job&) {}},
    {"mask of ones", [](Job& job) { job.plan.batch.attention_mask = AttentionMask::ones; }},
    {"padded rows", [](Job& job) { job.plan.batch.attention_mask = AttentionMask::right_padded; }},
    {"a single row", [](Job& job) { job.plan.training.per_device_train_batch_size = 1; }},
    {"checkpointing",
     [](Job& job) {
         job.plan.training.gradient_checkpointing = true;
         job.plan.training.use_reentrant = false;
     }},
    {"reentrant checkpointing",
     [](Job& job) {
         job.plan.training.gradient_checkpointing = true;
         job.plan.training.use_reentrant = true;
     }},
    {"mixed precision",
     [](Job& job) {
         job.plan.load.dtype = DType::float32;
         job.plan.training.bf16 = true;
     }},
    {"eager attention", [](Job& job) { job.plan.load.attention = AttentionImplementation::eager; }},
    {"eager attention, padded",
     [](Job& job) {
         job.plan.load.attention = AttentionImplementation::eager;
         job.plan.batch.attention_mask = AttentionMask::right_padded;
     }},
    {"flash attention", with_flash_attention},
    {"flash attention, a single row",
     [](Job& job) {
         with_flash_attention(job);
         job.plan.training.per_device_train_batch_size = 1;
     }},
    {"flash attention, mixed precision",
     [](Job& job) {
         with_flash_attention(job);
         job.plan.load.dtype = DType::float32;
         job.plan.training.bf16 = true;
     }},
    {"LoRA", test::with_lora},
    {"QLoRA", quantized},
    {"evaluation",
     [](Job& job) {
         job.plan.evaluation.emplace();
         job.plan.evaluation->every = 1;
     }},
    {"plain loop",
     [](Job& job) {
         job.plan.loop.kind = LoopKind::plain;
         job.model.use_cache = false;
     }},
};

}  // namespace

TEST_CASE("recorded families have the events of those written by hand") {
    const auto all = test::recorded_families();
    REQUIRE(all.size() == 24);
    [[maybe_unused]] std::size_t asked = 0;
    std::size_t compared = 0;
    for (const auto& [recording, model] : all) {
        for (const Option& option : kOptions) {
            if (is_left_out(recording.model_type, option.name)) continue;
            if (!test::is_tried(asked++, 7)) continue;
            INFO(recording.model_type << ", " << option.name);
            Job job = test::job_of_family(model);
            option.set(job);
            try {
                CHECK(test::difference(job, recording) == "");
            } catch (const Error& error) {
                const Problem& problem = error.problems().at(0);
                FAIL_CHECK(problem.where << ": " << problem.what);
            }
            ++compared;
        }
    }
    CHECK(compared > all.size());
}
