// The recordings of the families that are written by hand.
#include "support/recordings.hpp"

#include <fstream>

#include <nlohmann/json.hpp>

#include "support/llama.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit::test {

std::string in_networks(std::string_view name) {
    return std::string(VRAMFIT_TEST_DATA_DIR) + "/networks/" + std::string(name);
}

std::vector<RecordedFamily> recorded_families() {
    std::ifstream networks(in_networks("families.jsonl")), configurations(in_networks("families.config.jsonl"));
    std::vector<RecordedFamily> all;
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

Job job_of_family(const ModelSpec& model) {
    Job job = small_llama(2);
    job.model = model;
    job.plan.training.per_device_train_batch_size = 2;
    job.plan.batch.sequence_length = 48;
    job.plan.batch.attention_mask = AttentionMask::absent;
    if (model.model_type == "gpt_oss") job.plan.load.attention = AttentionImplementation::eager;  // it has no other
    return job;
}

void with_lora(Job& job) {
    job.plan.peft.emplace();
    job.plan.peft->target_modules = "all-linear";
    if (job.model.mixture) job.plan.peft->target_modules = std::vector<std::string>{"q_proj", "o_proj"};
}

}  // namespace vramfit::test
