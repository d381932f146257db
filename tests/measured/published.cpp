// Reads the published measurements and runs the program on their jobs.
#include "measured/published.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit::test {

namespace {

using nlohmann::json;

void read_job_of(const json& row, Source& source) {
    ++source.jobs;
    const std::string name = row["name"];
    try {
        const Prediction p = predict(read_job(row["job"].dump(), name, Environment{}));
        if (p.verdict != Verdict::not_asked && row.value("ran", true)) {
            ++source.on_cards;
            if (p.verdict == Verdict::too_large) source.too_large.push_back(name);
        }
        for (const json& e : row["expected"])
            if (const auto found = p.quantities.find(e[0]); found != p.quantities.end())
                source.readings.push_back(
                    {row["source"], name, e[0], e[1], e[2], e[3], found->second, row.value("byte_exact", false)});
    } catch (const Error& e) {
        ++source.refused[e.problems()[0].what];
    }
}

struct Cause {
    std::string source;
    std::regex row;
    std::string text;
};

std::vector<Cause> read_causes() {
    std::vector<Cause> out;
    std::ifstream in(VRAMFIT_TEST_DATA_DIR "/measured_causes.jsonl");
    for (std::string line; std::getline(in, line);) {
        const json row = json::parse(line);
        out.push_back({row["source"], std::regex(row["row"].get<std::string>()), row["cause"]});
    }
    return out;
}

}  // namespace

std::map<std::string, Source> published_sources() {
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

std::string cause_of(const Reading& reading) {
    static const std::vector<Cause> causes = read_causes();
    const std::string row = reading.job + " " + reading.quantity;
    for (const Cause& cause : causes)
        if (cause.source == reading.source && std::regex_search(row, cause.row)) return cause.text;
    return "not known";
}

}  // namespace vramfit::test
