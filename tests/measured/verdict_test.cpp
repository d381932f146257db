// Verdicts against what happened: published runs on cards that are known by name, traces at the limit of a card.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/job.hpp"

using namespace vramfit;
using nlohmann::json;

namespace {

std::vector<json> lines_of(const std::string& name) {
    std::vector<json> out;
    std::ifstream in(fmt::format(VRAMFIT_TEST_DATA_DIR "/{}", name));
    for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
    return out;
}

/// Traces on cards that are written out: made at the limit of what fits.
std::vector<json> traces_at_the_limit() {
    std::vector<json> out;
    for (json& trace : lines_of("traces.jsonl")) {
        const json card = trace["job"].value("card", json());
        if (card.is_string() && card.get<std::string>().find(',') != std::string::npos) out.push_back(std::move(trace));
    }
    return out;
}

bool ran_out(const json& trace) { return trace["outcome"]["oom"].is_object(); }

/// The job with a card of the same total of which nothing else is known.
Job with_size_alone(Job job) {
    Device sized = device_from(fmt::format("{}B", job.device.total.count));
    sized.alloc_conf = job.device.alloc_conf;
    sized.capability = job.device.capability;
    sized.multiprocessors = job.device.multiprocessors;
    job.device = std::move(sized);
    return job;
}

}  // namespace

TEST_CASE("published runs that completed: none too large, at most 3 % tight") {
    int asked = 0, tight = 0;
    for (const std::string file : {"measured.jsonl", "table1.jsonl"}) {
        for (const json& row : lines_of(file)) {
            if (!row.value("ran", true)) continue;
            try {
                const Judgement j = judge(read_job(row["job"].dump(), "job", Environment{}));
                if (j.verdict() == Verdict::not_asked) continue;
                INFO(row["job"].value("name", row.value("name", "")));
                CHECK(j.verdict() != Verdict::too_large);
                ++asked;
                tight += j.verdict() == Verdict::tight;
            } catch (const Error&) {  // what is refused has no verdict
            }
        }
    }
    WARN(fmt::format("{} runs on known cards, {} tight", asked, tight));
    CHECK(asked > 100);
    CHECK(100 * tight <= 3 * asked);
}

TEST_CASE("traces at the limit: where the card is exact, so is the verdict") {
    int out_of_memory = 0, completed = 0;
    for (const json& trace : traces_at_the_limit()) {
        INFO(trace["name"]);
        const Job job = read_job(trace["job"].dump(), "trace", Environment{});
        CHECK(judge(job).verdict() == (ran_out(trace) ? Verdict::too_large : Verdict::fits));
        ++(ran_out(trace) ? out_of_memory : completed);
    }
    CHECK(out_of_memory >= 10);
    CHECK(completed >= 3);
}

TEST_CASE("traces at the limit: where only a size is known, none that ran out fits, none that completed is too large") {
    std::map<Verdict, int> verdicts;
    for (const json& trace : traces_at_the_limit()) {
        INFO(trace["name"]);
        const Verdict verdict = judge(with_size_alone(read_job(trace["job"].dump(), "trace", Environment{}))).verdict();
        CHECK(verdict != (ran_out(trace) ? Verdict::fits : Verdict::too_large));
        ++verdicts[verdict];
    }
    CHECK(verdicts[Verdict::tight] > 0);
}

TEST_CASE("a card's ends hold what was assumed of it, and published sizes stay useful") {
    for (const KnownDevice& known : known_devices()) {
        INFO(known.name);
        const Device device = device_from(known.name);
        CHECK(device.usable_low() <= device.usable);
        CHECK(device.usable_high() >= device.usable);
        // 8 % of a card is not known at most.
        CHECK(100 * (device.usable_high() - device.usable_low()).count <= 8 * device.total.count);
    }
    for (const char* size : {"8GiB", "16GiB", "24GiB", "48GiB", "80GiB"}) {
        INFO(size);
        const Device device = device_from(size);
        CHECK(100 * (device.usable_high() - device.usable_low()).count <= 6 * device.total.count);
        const Device exact = with_context(with_total(device, device.total), Bytes{300 * kMiB});
        CHECK(exact.usable_low() == exact.usable_high());
    }
}
