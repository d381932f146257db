// Runs of Unsloth on cards that are hardly large enough, or hardly too small: whether they end is what is said of them.
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit::test {

namespace {

struct Seen {
    std::size_t runs = 0, alike = 0, ended = 0;
    bool uneven = false, in_16_bits = false;
};

/// Compares each run's outcome with what is said of it.
Seen compare_outcomes(const std::string& file) {
    std::ifstream in(VRAMFIT_TEST_DATA_DIR + file);
    Seen seen;
    for (std::string line; std::getline(in, line); ++seen.runs) {
        const nlohmann::json run = nlohmann::json::parse(line);
        const std::string name = run["job"]["name"];
        INFO(name);
        const bool out_of_memory = run["out_of_memory"];
        const Prediction said = predict(read_job(run["job"].dump(), name, Environment{}));
        seen.ended += !out_of_memory;
        seen.alike += said.out_of_memory.has_value() == out_of_memory;
        if (out_of_memory && said.out_of_memory) CHECK(said.out_of_memory_window == run["window"]);
        seen.uneven = seen.uneven || !said.plan.batch.lengths.empty();
        seen.in_16_bits = seen.in_16_bits || !said.plan.load.quantization;
        if (said.verdict == Verdict::fits) CHECK_FALSE(out_of_memory);
        if (said.verdict == Verdict::too_large) CHECK(out_of_memory);
    }
    // Of one in twenty blocks lie otherwise, and cached memory is given back once more or less.
    CHECK(seen.alike + (seen.runs + 12) / 20 >= seen.runs);
    CHECK(seen.ended < seen.runs);
    CHECK(seen.uneven);
    CHECK(seen.in_16_bits);
    return seen;
}

}  // namespace

TEST_CASE("Unsloth near a card's limit: no run that is said to fit runs out of memory, none that is not ends",
          "[long]") {
    const Seen seen = compare_outcomes("/unsloth_limits.jsonl");
    CHECK(seen.runs >= 30);
    CHECK(seen.ended >= 10);
}

TEST_CASE("Unsloth 2026.10.9 near a card's limit") {
    const Seen seen = compare_outcomes("/unsloth_limits_2026.10.9.jsonl");
    CHECK(seen.runs >= 15);
    CHECK(seen.ended >= 10);
}

}  // namespace vramfit::test
