// Generation under flash attention: rows that are packed, tokens that are written again, what is refused.
#include "model/record.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "windows.hpp"

using namespace vramfit;
using vramfit::test::most_requested_in;
using vramfit::test::reason_of;

namespace {

struct FlashCase {
    std::string model_type, batch;
    std::int64_t window = 0;
    std::string attention = "flash_attention_2", training = "";
};

Job flash_job(const FlashCase& of) {
    Job job = read_job(R"({"schema": "vramfit.job/1", "model": {"model_type": ")" + of.model_type +
                           R"(", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512}, "loop": {"kind": "grpo"},
        "training": {"per_device_train_batch_size": 4, "num_generations": 2)" +
                           of.training + R"(}, "load": {"dtype": "bfloat16", "attn_implementation": ")" + of.attention +
                           R"("}, "batch": {)" + of.batch + R"(}, "peft": {"r": 4, "target_modules": "all-linear"}})",
                       "job.json", {});
    if (of.window > 0) job.model.sliding_window = of.window;
    return job;
}

/// Everything that is allocated and freed, in order.
std::vector<std::pair<std::uint32_t, std::int64_t>> all_requests(const Program& program) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> out;
    for (const Event& event : program.events)
        out.emplace_back(event.id, event.kind == EventKind::free ? -1 : program.allocations[event.id].bytes);
    return out;
}

}  // namespace

TEST_CASE("tokens of packed rows are written again as they would be run, and so are those that see a mask of eights") {
    const std::string differ = R"("prompt_length": [70, 9], "completion_length": 90)";
    const FlashCase cases[] = {
        {"llama", R"("prompt_length": 70, "completion_length": 60)"},
        {"llama", differ},
        {"llama", R"("prompt_length": 70, "completion_length": 60, "padded": true)"},
        {"llama", R"("prompt_length": [500, 9], "completion_length": 150)"},
        {"mistral", differ, 64},
        {"mistral", differ, 90},
        {"mistral", R"("prompt_length": 30, "completion_length": 90)", 64},
        {"llama", R"("prompt_length": [500, 9], "completion_length": 150)", 0, "sdpa"},
        {"llama", R"("prompt_length": [250, 9], "completion_length": 149, "padded": false)", 0, "sdpa"},
        {"mistral", differ, 64, "sdpa"},
        {"mistral", differ, 90, "sdpa"},
    };
    for (const FlashCase& each : cases) {
        INFO(each.model_type << each.batch << each.window << each.attention);
        const Job job = flash_job(each);
        const Program again = model::record(job.model, job.plan, job.stack, job.device);
        const Program every = model::record_every_batch(job.model, job.plan, job.stack, job.device);
        REQUIRE(again.events.size() == every.events.size());
        CHECK(all_requests(again) == all_requests(every));
        CHECK(model::summarize(job.model, job.plan, job.stack, job.device).requested == timeline(job).peak.requested);
    }
}

TEST_CASE("packed rows have the tokens that are no padding") {
    const auto loss_of = [](const std::string& batch) {
        return most_requested_in(flash_job({"llama", batch}), "step1.loss");
    };
    const std::int64_t all = loss_of(R"("prompt_length": 60, "completion_length": 40, "padded": true)");
    const std::int64_t fewer = loss_of(R"("prompt_length": [60, 59], "completion_length": 40)");
    const std::int64_t few = loss_of(R"("prompt_length": [60, 10], "completion_length": [40, 10, 10, 10])");
    CHECK(all > fewer);
    CHECK(fewer > few);
}

TEST_CASE("prompts of several lengths under flash attention need batches that are generated one at a time") {
    const std::string two = R"(, "gradient_accumulation_steps": 2)";
    const FlashCase lists{"llama", R"("prompt_length": [6, 3, 5, 4], "completion_length": 8)", 0, "flash_attention_2",
                          two};
    CHECK(reason_of(flash_job(lists), ErrorKind::unsupported).find("which prompts share a batch") != std::string::npos);
    const FlashCase unknown{"llama", R"("prompt_length": 6, "completion_length": 8, "padded": true)", 0,
                            "flash_attention_2", two};
    CHECK(reason_of(flash_job(unknown), ErrorKind::unsupported).empty());
    CHECK_FALSE(reason_of(flash_job({"llama", unknown.batch, 0, "eager"}), ErrorKind::unsupported).empty());
    Job float32 = flash_job(unknown);
    float32.plan.load.dtype = DType::float32;
    CHECK(reason_of(float32, ErrorKind::unsupported).find("fp16 and bf16 only") != std::string::npos);
}
