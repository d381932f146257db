// Runs of Unsloth on cards that are hardly large enough, or hardly too small: whether they end is what is said of them.
#include <fstream>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit::test {

TEST_CASE("Unsloth near a card's limit: no run that is said to fit runs out of memory, none that is not ends") {
    std::ifstream in(VRAMFIT_TEST_DATA_DIR "/unsloth_limits.jsonl");
    std::size_t runs = 0, alike = 0, ended = 0;
    bool saw_uneven = false, saw_16bit = false;
    for (std::string line; std::getline(in, line);) {
        const nlohmann::json run = nlohmann::json::parse(line);
        const std::string name = run["job"]["name"];
        INFO(name);
        const bool out_of_memory = run["out_of_memory"];
        const Prediction said = predict(read_job(run["job"].dump(), name, Environment{}));
        ++runs;
        ended += !out_of_memory;
        alike += said.out_of_memory.has_value() == out_of_memory;
        if (out_of_memory && said.out_of_memory) CHECK(said.out_of_memory_window == run["window"]);
        saw_uneven = saw_uneven || !said.plan.batch.lengths.empty();
        saw_16bit = saw_16bit || !said.plan.load.quantization;
        if (said.verdict == Verdict::fits) CHECK_FALSE(out_of_memory);
        if (said.verdict == Verdict::too_large) CHECK(out_of_memory);
    }
    CHECK(runs >= 20);
    CHECK(alike + 1 >= runs);  // of one blocks lie otherwise, and cached memory is given back once more
    CHECK(ended >= 10);
    CHECK(saw_uneven);
    CHECK(saw_16bit);
    CHECK(ended < runs);
}

}  // namespace vramfit::test
