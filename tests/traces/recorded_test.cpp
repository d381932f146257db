// Recorded networks of types that nobody wrote by hand, against traces of the real libraries.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "spec/json_parse.hpp"
#include "spec/network/release.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::test {

namespace {

using nlohmann::json;

constexpr const char* kFolder = VRAMFIT_TEST_DATA_DIR "/networks/";

/// What differs between a trace and the timeline of its job.
std::string differences(const json& trace, const json& job) {
    const Job read = read_job(job.dump(), trace["name"].get<std::string>(), Environment{});
    const Timeline answer = timeline(read.model, read.plan, read.stack, read.device);
    std::string found;
    std::size_t next = 0;
    for (const json& window : trace["windows"]) {
        std::size_t at = next;
        while (at < answer.windows.size() && name_of(answer.windows[at].phase) != window[0]) ++at;
        if (at == answer.windows.size()) {
            found += fmt::format("{}: missing\n", window[0].get<std::string>());
            continue;
        }
        next = at + 1;
        const WindowLevels& w = answer.windows[at];
        const std::int64_t peak = w.peak.requested - window[1].get<std::int64_t>();
        const std::int64_t end = w.end.requested - window[2].get<std::int64_t>();
        if (peak != 0 || end != 0)
            found += fmt::format("{}: peak {:+} end {:+}\n", window[0].get<std::string>(), peak, end);
    }
    return found;
}

/// The same with this file for the job's network.
std::string differences_with(const json& trace, const std::string& file) {
    json job = trace["job"];
    job["model"] = kFolder + file;
    return differences(trace, job);
}

}  // namespace

TEST_CASE("recorded networks have the requested bytes of their traces in every window", "[long]") {
    std::ifstream lines(std::string(kFolder) + "traces.jsonl");
    std::size_t traces = 0, windows = 0;
    for (std::string line; std::getline(lines, line); ++traces) {
        const json trace = json::parse(line);
        INFO(trace["name"].get<std::string>());
        CHECK(trace["windows"].size() > 20);
        CHECK(differences_with(trace, trace["network"]) == "");
        windows += trace["windows"].size();
    }
    CHECK(traces == 173);
    CHECK(windows >= 4800);
}

/// The recording of the type that answers a job: of the release of transformers that its stack has.
const network::TypeRecording& recording_for(const network::BuiltInType& type, const json& job) {
    const Version asked = stack_from(job.value("stack", "")).stack.transformers;
    const network::TypeRecording* own = network::recording_under(type, asked);
    return own ? *own : type;
}

TEST_CASE("networks of recorded types have the requested bytes of the traces of their configurations", "[long]") {
    std::ifstream lines(std::string(kFolder) + "traces.jsonl");
    std::map<const network::TypeRecording*, std::int64_t> jobs;
    for (std::string line; std::getline(lines, line);) {
        const json trace = json::parse(line);
        const std::string recording = trace["network"];
        const std::string name = recording.substr(0, recording.find("-tiny"));
        const network::BuiltInType* type = network::built_in_type(name);
        if (!type) continue;
        INFO(trace["name"].get<std::string>());
        if (is_tried(static_cast<std::size_t>(jobs[type]), 4))
            CHECK(differences_with(trace, name + "-tiny.config.json") == "");
        ++jobs[type];
    }
    std::ifstream of_types(std::string(kFolder) + "type_traces.jsonl");
    std::size_t i = 0;
    for (std::string line; std::getline(of_types, line);) {
        const json trace = json::parse(line);
        INFO(trace["name"].get<std::string>());
        CHECK(trace["windows"].size() > 20);
        if (is_tried(i++, 16)) CHECK(differences(trace, trace["job"]) == "");
        Problems problems("config.json");
        const JsonValue model = parse_json(trace["job"]["model"].dump(), problems);
        const network::BuiltInType* type = network::built_in_type_of(model);
        if (const JsonValue* text = model.find("text_config"); !type && text) type = network::built_in_type_of(*text);
        REQUIRE(type);
        ++jobs[&recording_for(*type, trace["job"])];
    }
    for (const network::BuiltInType& type : network::built_in_types()) {
        INFO(type.model_type);
        const auto is_counted = [&](const network::TypeRecording& recording) {
            return jobs[&recording] >= 3 && recording.facts.jobs == jobs[&recording];
        };
        CHECK(is_counted(type));
        CHECK(std::all_of(type.other_releases.begin(), type.other_releases.end(), is_counted));
    }
}

}  // namespace vramfit::test
