// Every family that is written by hand, and its recording: the same events for the same question.
#include <fstream>

#include <nlohmann/json.hpp>

#include "spec/network/document.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "support/story.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

using namespace vramfit;

namespace {

struct Recorded {
    network::Document network;
    ModelSpec model;
};

std::string in_networks(std::string_view name) {
    return std::string(VRAMFIT_TEST_DATA_DIR) + "/networks/" + std::string(name);
}

/// Lines of two files: recordings, whose instructions are on the first line, and the configurations that were recorded.
std::vector<Recorded> recordings() {
    std::ifstream networks(in_networks("families.jsonl")), configurations(in_networks("families.config.jsonl"));
    std::vector<Recorded> all;
    std::string network, configuration;
    std::getline(networks, network);
    const auto instructions = nlohmann::ordered_json::parse(network);
    while (std::getline(networks, network) && std::getline(configurations, configuration)) {
        auto whole = nlohmann::ordered_json::parse(network);
        for (auto& program : whole["programs"])
            for (auto& one : program["code"]) one = instructions.at(one.get<std::size_t>());
        all.push_back(
            {network::read_network(whole.dump(), "families.jsonl"), read_config(configuration, "config.json")});
    }
    return all;
}

/// What is not compared. A recomputation of a checkpointed unit stops where all that was saved is there again: in which
/// order the frames' variables go then is none of the language, and of these layers the last module is left in the
/// middle. Nemotron's norm asks for autocast, so its program is recorded for its own sizes only.
bool is_left_out(std::string_view type, std::string_view option) {
    if (type == "nemotron") return option == "mixed precision";
    if (option != "checkpointing") return false;
    for (const std::string_view one : {"gemma2", "gemma3_text", "glm4", "mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss"})
        if (type == one) return true;
    return false;
}

struct Option {
    std::string_view name;
    void (*set)(Job& job);
};

void lora(Job& job) {
    job.plan.peft.emplace();
    job.plan.peft->target_modules = "all-linear";
    if (job.model.mixture) job.plan.peft->target_modules = std::vector<std::string>{"q_proj", "o_proj"};
}

void quantized(Job& job) {
    lora(job);
    job.plan.load.quantization.emplace();
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
    {"LoRA", lora},
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

Job job_of(const ModelSpec& model) {
    Job job = test::small_llama(2);
    job.model = model;
    job.plan.training.per_device_train_batch_size = 2;
    job.plan.batch.sequence_length = 48;
    job.plan.batch.attention_mask = AttentionMask::absent;
    if (model.model_type == "gpt_oss") job.plan.load.attention = AttentionImplementation::eager;  // it has no other
    return job;
}

}  // namespace

TEST_CASE("recorded families have the events of those written by hand") {
    const auto all = recordings();
    REQUIRE(all.size() == 24);
    [[maybe_unused]] std::size_t asked = 0;
    std::size_t compared = 0;
    for (const auto& [recording, model] : all) {
        for (const Option& option : kOptions) {
            if (is_left_out(recording.model_type, option.name)) continue;
#ifdef VRAMFIT_SANITIZED  // some of them: each takes ten times as long there
            if (asked++ % 7 != 0) continue;
#endif
            INFO(recording.model_type << ", " << option.name);
            Job job = job_of(model);
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
