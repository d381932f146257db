// Reading of the traces' jobs.
#include "support/trace_jobs.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "vramfit/base/error.hpp"

namespace vramfit::test {

std::vector<std::string> trace_jobs() {
    std::ifstream file(VRAMFIT_TEST_DATA_DIR "/traces.jsonl");
    std::vector<std::string> out;
    for (std::string line; std::getline(file, line);) out.push_back(nlohmann::json::parse(line)["job"].dump());
    return out;
}

std::vector<Job> accepted_trace_jobs(std::int64_t most_layers, std::size_t first, std::size_t every) {
    std::vector<Job> out;
    const std::vector<std::string> texts = trace_jobs();
    for (std::size_t at = first; at < texts.size(); at += every) {
        try {
            Job job = read_job(texts[at], "traces.jsonl", Environment{});
            if (job.model.num_hidden_layers <= most_layers) out.push_back(std::move(job));
        } catch (const Error&) {
            continue;  // the libraries refuse some jobs, and so do we
        }
    }
    return out;
}

}  // namespace vramfit::test
