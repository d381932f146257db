// Measurements of real runs that others have published, against the program; the test writes docs/accuracy.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/generated.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/job.hpp"

using namespace vramfit;

namespace {

using nlohmann::json;

/// A measured quantity beside its prediction. Between `low` and `high` a reading is right: the source rounds.
struct Reading {
    std::string job;
    std::string quantity;
    std::int64_t low = 0, measured = 0, high = 0, predicted = 0;

    bool equal() const { return low <= predicted && predicted <= high; }
    double percent() const { return 100.0 * static_cast<double>(predicted - measured) / static_cast<double>(measured); }
};

/// The readings of one source, and why some of its jobs are not predicted.
struct Source {
    std::string commit;
    std::vector<Reading> readings;
    std::map<std::string, int> refused;
    int jobs = 0;
};

void read_job_of(const json& row, Source& source) {
    ++source.jobs;
    const std::string name = row["name"];
    try {
        const Prediction p = predict(read_job(row["job"].dump(), name, Environment{}));
        for (const json& e : row["expected"])
            if (const auto found = p.quantities.find(e[0]); found != p.quantities.end())
                source.readings.push_back({name, e[0], e[1], e[2], e[3], found->second});
    } catch (const Error& e) {
        ++source.refused[e.problems()[0].what];
    }
}

/// Sources by name, from tests/data/measured.jsonl.
std::map<std::string, Source> sources() {
    std::map<std::string, Source> out;
    std::ifstream in(VRAMFIT_TEST_DATA_DIR "/measured.jsonl");
    for (std::string line; std::getline(in, line);) {
        const json row = json::parse(line);
        Source& source = out[row["source"]];
        source.commit = row["commit"];
        read_job_of(row, source);
    }
    return out;
}

double median_error(std::vector<Reading> readings) {
    std::vector<double> errors;
    for (const Reading& r : readings) errors.push_back(std::abs(r.percent()));
    std::sort(errors.begin(), errors.end());
    return errors[errors.size() / 2];
}

bool worse(const Reading& a, const Reading& b) { return std::abs(a.percent()) > std::abs(b.percent()); }

std::string summary(const Source& source) {
    std::map<std::string, std::vector<Reading>> by_quantity;
    for (const Reading& r : source.readings) by_quantity[r.quantity].push_back(r);
    std::string out = "| quantity | readings | equal | median error | worst |\n|---|--:|--:|--:|--:|\n";
    for (const auto& [quantity, readings] : by_quantity) {
        const auto equal = std::count_if(readings.begin(), readings.end(), [](const Reading& r) { return r.equal(); });
        const Reading& worst = *std::min_element(readings.begin(), readings.end(), worse);
        out += fmt::format("| {} | {} | {} | {:.4f} % | {:+.4f} % |\n", quantity, readings.size(), equal,
                           median_error(readings), worst.percent());
    }
    return out;
}

/// What is not equal, worst first.
std::string differences(Source source) {
    std::sort(source.readings.begin(), source.readings.end(), worse);
    std::string rows;
    for (const Reading& r : source.readings)
        if (!r.equal())
            rows += fmt::format("| {} | {} | {} | {} | {:+.4f} % |\n", r.job, r.quantity, r.measured, r.predicted,
                                r.percent());
    if (rows.empty()) return "Every reading is equal.\n";
    return "| job | quantity | measured | predicted | error |\n|---|---|--:|--:|--:|\n" + rows;
}

}  // namespace

TEST_CASE("published measurements: docs/accuracy.md shows every one") {
    std::string page;
    for (const auto& [name, source] : sources()) {
        page += fmt::format("## {}\n\nCommit {}; {} jobs.\n\n", name, source.commit, source.jobs);
        for (const auto& [reason, jobs] : source.refused) page += fmt::format("* {} not predicted: {}\n", jobs, reason);
        if (!source.refused.empty()) page += "\n";
        if (source.readings.empty()) continue;
        page += summary(source) + "\n" + differences(source) + "\n";
    }
    test::check_generated("docs/accuracy.md", page);
}
