// Reads the traces and runs the program on their jobs.
#include "support/traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit::test {

namespace {

using nlohmann::json;

Trace trace_from(const json& line) {
    Trace t;
    t.name = line["name"];
    t.job = line["job"].dump();
    if (line["job"].contains("stack") && line["job"]["stack"].is_string()) t.stack = line["job"]["stack"];
    t.distributed = line["job"].contains("distributed") && line["job"]["distributed"].is_object();
    const json& outcome = line["outcome"];
    if (outcome.contains("refused")) t.refusal = outcome["refused"];
    if (outcome.contains("oom") && outcome["oom"].is_object()) t.oom_window = outcome["oom"]["window"];
    t.retries = outcome.value("retries", std::int64_t{0});
    for (const json& w : line["windows"]) t.windows.push_back({w[0], w[1], w[2], w[3], w[4], w[5], w[6]});
    return t;
}

bool within(std::int64_t a, std::int64_t b, double share) {
    return std::abs(static_cast<double>(a - b)) <= share * static_cast<double>(b);
}

void compare_windows(const Trace& trace, const Timeline& timeline, Comparison& out) {
    out.windows = trace.windows.size();
    std::int64_t mine = 0, theirs = 0;
    std::size_t next = 0;  // names may repeat (trl's trainer has several windows "trainer"), so windows pair in order
    for (const TracedWindow& t : trace.windows) {
        std::size_t at = next;
        while (at < timeline.windows.size() && name_of(timeline.windows[at].phase) != t.name) ++at;
        if (at == timeline.windows.size()) {
            out.differing.push_back(fmt::format("{}: missing", t.name));
            continue;
        }
        next = at + 1;
        const WindowLevels& w = timeline.windows[at];
        mine = std::max(mine, w.peak.reserved);
        theirs = std::max(theirs, t.reserved_peak);
        if (w.peak.requested == t.requested_peak && w.end.requested == t.requested_end)
            ++out.requested_equal;
        else
            out.differing.push_back(fmt::format("{}: peak {:+} end {:+}", t.name, w.peak.requested - t.requested_peak,
                                                w.end.requested - t.requested_end));
        out.allocated_close +=
            within(w.peak.allocated, t.allocated_peak, 0.001) && within(w.end.allocated, t.allocated_end, 0.001);
        if (t.allocated_peak > 0)
            out.allocated_worst =
                std::max(out.allocated_worst, std::abs(static_cast<double>(w.peak.allocated - t.allocated_peak)) /
                                                  static_cast<double>(t.allocated_peak));
        out.allocated_equal += w.peak.allocated == t.allocated_peak && w.end.allocated == t.allocated_end;
        out.reserved_equal += w.peak.reserved == t.reserved_peak && w.end.reserved == t.reserved_end;
    }
    if (theirs > 0)
        out.reserved_peak_percent = 100.0 * static_cast<double>(mine - theirs) / static_cast<double>(theirs);
}

}  // namespace

std::vector<Trace> traces_of(const std::string& file) {
    std::vector<Trace> out;
    std::ifstream in(VRAMFIT_TEST_DATA_DIR "/" + file);
    for (std::string line; std::getline(in, line);) out.push_back(trace_from(json::parse(line)));
    return out;
}

const std::vector<Trace>& traces() {
    static const std::vector<Trace> all = traces_of("traces.jsonl");
    return all;
}

Comparison compare(const Trace& trace) {
    Comparison out;
    try {
        const Job job = read_job(trace.job, trace.name, Environment{});
        const Timeline t = timeline(job.model, job.plan, job.stack, job.device);
        compare_windows(trace, t, out);
        const std::string oom = t.out_of_memory ? name_of(t.windows[t.out_of_memory->window].phase) : "";
        out.outcome_equal = oom == trace.oom_window;
        out.ending_equal =
            oom.empty() == trace.oom_window.empty() && (!oom.empty() || (t.retries > 0) == (trace.retries > 0));
        if (!out.outcome_equal)
            out.differing.push_back(fmt::format("out of memory in \"{}\", traced in \"{}\"", oom, trace.oom_window));
    } catch (const Error& e) {
        (e.kind() == ErrorKind::unsupported ? out.unsupported : out.refused) = true;
        out.message = e.what();
    }
    return out;
}

}  // namespace vramfit::test
