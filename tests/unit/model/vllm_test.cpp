// vLLM in the process of GRPO and RLOO: when it gets the weights, what corrects the loss for what it sampled with.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "model/record.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/vllm_arguments.hpp"
#include "windows.hpp"

using namespace vramfit;
using vramfit::test::has_window;
using vramfit::test::reason_of;

namespace {

const std::string kVllmLora = R"(, "peft": {"r": 4, "target_modules": "all-linear"})";
const std::string kVllmRows = R"("prompt_length": 6, "completion_length": 8)";

Job vllm_job(const std::string& training, const std::string& more = "", const std::string& loop = "grpo",
             const std::string& batch = kVllmRows) {
    return read_job(R"({"schema": "vramfit.job/1", "model": {"model_type": "llama", "hidden_size": 128,
        "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "vocab_size": 512}, "loop": {"kind": ")" +
                        loop + R"("}, "training": {"per_device_train_batch_size": 4, "num_generations": 2)" + training +
                        R"(}, "load": {"dtype": "bfloat16"}, "batch": {)" + batch + "}" + more + "}",
                    "job.json", {});
}

const std::string kUse = R"(, "use_vllm": true)";

/// Bytes that a window requests beside what is there when it ends.
std::int64_t taken_in(const Job& job, const std::string& name) {
    std::int64_t most = 0;
    for (const WindowLevels& window : timeline(job).windows)
        if (name_of(window.phase) == name) most = window.peak.requested - window.end.requested;
    return most;
}

/// Allocations of a size.
std::int64_t requests_of(const Job& job, std::int64_t bytes) {
    const Program program = program_of(job);
    return std::count_if(program.allocations.begin(), program.allocations.end(),
                         [bytes](const Allocation& each) { return each.bytes == bytes; });
}

}  // namespace

TEST_CASE("with vLLM the trainer holds no keys and values while completions are generated") {
    const std::string long_rows = R"("prompt_length": 6, "completion_length": 500)";
    const std::int64_t with = taken_in(vllm_job(kUse, "", "grpo", long_rows), "step1.generation");
    CHECK(with < taken_in(vllm_job("", "", "grpo", long_rows), "step1.generation") / 10);
    CHECK(with < 10'000);
}

// peft 0.21 tuners/lora/layer.py get_delta_weight: lora_B @ lora_A, and the same scaled, merged and unmerged.
TEST_CASE("adapters are merged for vLLM with each optimizer step") {
    constexpr std::int64_t kDelta = 128 * 256 * 4;  // of gate_proj, in float32
    const auto deltas = [](const std::string& training) {
        const std::string gate = R"(, "peft": {"r": 4, "target_modules": ["gate_proj"]})";
        return requests_of(vllm_job(training, gate), kDelta) - requests_of(vllm_job(kUse + training, gate), kDelta);
    };
    const std::int64_t twice = -deltas("");
    CHECK(twice == 2 * 2 * 2 * 2);  // product and scaled one, merged and unmerged, of two layers in two steps
    // Two generations in a step: the weights are the same at the second one.
    CHECK(-deltas(R"(, "gradient_accumulation_steps": 2, "steps_per_generation": 1)") == twice);
    CHECK(-deltas(R"(, "num_iterations": 2)") == twice / 2);  // one generation for both steps
}

// trl 1.16 grpo_trainer.py: old_per_token_logps with use_vllm and vllm_importance_sampling_correction.
TEST_CASE("GRPO corrects for what vLLM sampled with, for which the policy scores its completions") {
    CHECK(has_window(vllm_job(kUse), "step0.log_probabilities"));
    CHECK_FALSE(has_window(vllm_job(""), "step0.log_probabilities"));
    const std::string off = R"(, "vllm_importance_sampling_correction": false)";
    CHECK_FALSE(has_window(vllm_job(kUse + off), "step0.log_probabilities"));
    const auto mode = [](const std::string& name) {
        return timeline(vllm_job(kUse + R"(, "vllm_importance_sampling_mode": ")" + name + "\"")).windows;
    };
    const auto inputs_end = [&](const std::string& name) {
        for (const WindowLevels& window : mode(name))
            if (name_of(window.phase) == "step1.inputs") return window.end.requested;
        return std::int64_t{0};
    };
    // A ratio of each of 4 x 8 tokens in place of each of 4 rows.
    CHECK(inputs_end("token_mask") - inputs_end("sequence_mask") == 4 * 8 * 4 - 4 * 4);
    CHECK(inputs_end("token_truncate") == inputs_end("token_mask"));
}

// vllm 0.31 distributed/weight_transfer/packed_tensor.py: buffers of more than 1 GiB, two at a time.
TEST_CASE("weights go to a server in buffers, by trl 1.9 one by one") {
    const auto buffers = [](const std::string& model, const std::string& more) {
        const Job job = read_job(R"({"schema": "vramfit.job/1", "model": ")" + model + R"(", "loop": {"kind": "grpo"},
            "training": {"per_device_train_batch_size": 4, "num_generations": 2, "use_vllm": true,
                         "vllm_mode": "server"}, "load": {"dtype": "bfloat16"},
            "batch": {"prompt_length": 6, "completion_length": 8})" +
                                     more + "}",
                                 "job.json", {});
        std::vector<std::int64_t> out;
        const Program program = program_of(job);
        for (const Allocation& each : program.allocations)
            if (each.stream > 0) out.push_back(each.bytes);
        return out;
    };
    const std::int64_t small = 2 * 134'515'008;
    CHECK(buffers("smollm2-135m", "") == std::vector<std::int64_t>{small, small});  // of two steps
    CHECK(buffers("smollm2-135m", R"(, "stack": "axolotl-0.19")").empty());
    const std::vector<std::int64_t> large = buffers("llama-3.2-1b", "");
    REQUIRE(large.size() == 2 * 3);
    CHECK(large[0] + large[1] + large[2] == 2 * std::int64_t{1'235'814'400});
    for (const std::size_t full : {std::size_t{0}, std::size_t{1}}) CHECK(large[full] > std::int64_t{1} << 30);
    CHECK(large[2] < std::int64_t{1} << 30);
}

TEST_CASE("batches with vLLM are written again as they would be run") {
    for (const char* loop : {"grpo", "rloo"})
        for (const char* training :
             {"", R"(, "vllm_mode": "server")", R"(, "bf16": true, "gradient_accumulation_steps": 2)",
              R"(, "gradient_accumulation_steps": 2, "steps_per_generation": 4)",
              R"(, "vllm_mode": "server", "gradient_accumulation_steps": 2, "num_iterations": 2)"}) {
            INFO(loop << training);
            if (loop == std::string("rloo") && std::string(training).find("iterations") != std::string::npos) continue;
            const Job job = vllm_job(kUse + training, kVllmLora, loop);
            const auto sizes = [](const Program& program) {
                std::vector<std::int64_t> out;
                for (const Allocation& each : program.allocations) out.push_back(each.bytes);
                return out;
            };
            CHECK(sizes(model::record(job.model, job.plan, job.stack, job.device)) ==
                  sizes(model::record_every_batch(job.model, job.plan, job.stack, job.device)));
        }
}

TEST_CASE("what of vLLM was not compared is refused by name") {
    const auto refused = [](const std::string& more) {
        return reason_of(vllm_job(R"(, "bf16": true)" + kUse, more), ErrorKind::unsupported);
    };
    CHECK(refused(kVllmLora).empty());
    CHECK(refused(R"(, "peft": {"r": 4, "target_modules": ["q_proj"], "use_dora": true})").find("DoRA") !=
          std::string::npos);
    CHECK(refused(R"(, "peft": {"r": 4, "target_modules": ["q_proj"], "modules_to_save": ["lm_head"]})").find("vLLM") !=
          std::string::npos);
    CHECK(refused(R"(, "distributed": {"kind": "ddp", "world_size": 2})").empty());
    CHECK(refused(R"(, "distributed": {"kind": "fsdp2", "world_size": 2})").find("gathered") != std::string::npos);
    const auto zero = [](int stage) {
        return fmt::format(R"(, "distributed": {{"kind": "deepspeed", "world_size": 2,
                                "deepspeed": {{"zero_optimization": {{"stage": {}}}}}}})",
                           stage);
    };
    CHECK(refused(zero(2)).empty());
    CHECK(refused(zero(3)).find("gathered") != std::string::npos);
    const std::string quantized = R"({"schema": "vramfit.job/1", "model": "smollm2-135m", "loop": {"kind": "grpo"},
        "training": {"per_device_train_batch_size": 4, "num_generations": 4, "use_vllm": true},
        "load": {"quantization_config": {"load_in_4bit": true}}, "peft": {"r": 4, "target_modules": "all-linear"},
        "batch": {"prompt_length": 6, "completion_length": 8}})";
    CHECK(reason_of(read_job(quantized, "job.json", {}), ErrorKind::unsupported).find("quantizes them anew") !=
          std::string::npos);
}

TEST_CASE("vLLM's arguments: what trl stops at, what is not predicted") {
    const auto kind = [](const VllmArguments& asked) { return problem_of(asked)->kind; };
    CHECK_FALSE(problem_of({}));
    CHECK_FALSE(problem_of({.share = 1}));
    CHECK_FALSE(problem_of({.mode = "server", .share = 2, .sleeps = true, .tensor_parallel = 8}));  // the server's own
    CHECK(kind({.mode = "local"}) == ErrorKind::invalid);
    CHECK(kind({.share = 0}) == ErrorKind::invalid);
    CHECK(kind({.share = 1.01}) == ErrorKind::invalid);
    CHECK(kind({.sleeps = true}) == ErrorKind::unsupported);
    CHECK(kind({.tensor_parallel = 2}) == ErrorKind::unsupported);
    // Without use_vllm trl looks at none of them.
    CHECK_FALSE(vllm_job(R"(, "vllm_mode": "server")").plan.preference.grpo.generates_by_vllm());
    const GrpoPlan server =
        vllm_job(kUse + R"(, "vllm_mode": "server", "vllm_max_model_length": 1)").plan.preference.grpo;
    CHECK(server.vllm_on_server);
    CHECK_FALSE(server.vllm_share);
    CHECK_FALSE(server.vllm_context);
    CHECK(reason_of(vllm_job(kUse + R"(, "vllm_max_model_length": 13)"), ErrorKind::invalid).find("13") !=
          std::string::npos);
    CHECK(reason_of(vllm_job(kUse + R"(, "vllm_max_model_length": 14)"), ErrorKind::invalid).empty());
}

TEST_CASE("a job with vLLM is written as it was read") {
    const Job job = vllm_job(kUse + R"(, "vllm_gpu_memory_utilization": 0.45, "vllm_max_model_length": 64,
        "vllm_importance_sampling_mode": "token_truncate", "vllm_importance_sampling_correction": false)");
    CHECK(read_job(to_json_text(job), "again.json", {}).plan == job.plan);
    const Job server = vllm_job(kUse + R"(, "vllm_mode": "server")");
    CHECK(read_job(to_json_text(server), "again.json", {}).plan == server.plan);
}
