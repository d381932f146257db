// Measurements of real runs that others have published, against the program; the test writes docs/accuracy.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "measured/published.hpp"
#include "support/catch.hpp"
#include "support/generated.hpp"

namespace vramfit::test {

namespace {

using Sources = std::map<std::string, Source>;

bool worse(const Reading& a, const Reading& b) { return std::abs(a.percent()) > std::abs(b.percent()); }

double median_error(const std::vector<Reading>& readings) {
    std::vector<double> errors;
    for (const Reading& r : readings) errors.push_back(std::abs(r.percent()));
    std::sort(errors.begin(), errors.end());
    return errors[errors.size() / 2];
}

const Reading& worst_of(const std::vector<Reading>& readings) {
    return *std::min_element(readings.begin(), readings.end(), worse);
}

std::size_t equal_of(const std::vector<Reading>& readings) {
    return static_cast<std::size_t>(
        std::count_if(readings.begin(), readings.end(), [](const Reading& r) { return r.equal(); }));
}

/// A figure that the project holds itself to.
struct Bar {
    const char* what;
    const char* bar;
    bool (*covers)(const Reading&);
    double equal_percent, median, worst;  ///< the bar's numbers; 0: none for equal, above 100: none for errors
};

bool is_peak_of_a_phase(const Reading& r) {
    return r.quantity.rfind("phase.", 0) == 0 ||
           (r.quantity.size() > 5 && r.quantity.substr(r.quantity.size() - 5) == ".peak");
}

constexpr Bar kBars[] = {
    {"allocated peak, counters printed to the byte", "80 % equal, median 0, worst 0.5 %",
     [](const Reading& r) { return r.quantity == "allocated_peak" && r.byte_exact; }, 80, 0, 0.5},
    {"highest allocated after load, forward, backward and optimizer", "median 0.3 %, worst 1.5 %", is_peak_of_a_phase,
     0, 0.3, 1.5},
    {"allocated peak of one of two processes", "median 0.5 %, worst 2 %",
     [](const Reading& r) { return r.quantity == "allocated_peak" && r.source.ends_with("two GPUs"); }, 0, 0.5, 2},
    {"active peak", "median 0.5 %, worst 2 %", [](const Reading& r) { return r.quantity == "active_peak"; }, 0, 0.5, 2},
    {"reserved peak", "median 2 %, worst 6 %", [](const Reading& r) { return r.quantity == "reserved_peak"; }, 0, 2, 6},
    {"process total", "median 2 %", [](const Reading& r) { return r.quantity == "process_peak"; }, 0, 2, 1000},
};

std::string figures(const Sources& sources) {
    std::string out = "| figure | bar | readings | equal | median error | worst |\n|---|---|--:|--:|--:|--:|\n";
    for (const Bar& bar : kBars) {
        std::vector<Reading> covered;
        for (const auto& [name, source] : sources)
            std::copy_if(source.readings.begin(), source.readings.end(), std::back_inserter(covered), bar.covers);
        REQUIRE(!covered.empty());
        const double equal = 100.0 * static_cast<double>(equal_of(covered)) / static_cast<double>(covered.size());
        INFO(bar.what);
        CHECK(equal >= bar.equal_percent);
        CHECK(median_error(covered) <= bar.median);
        CHECK(std::abs(worst_of(covered).percent()) <= bar.worst);
        out += fmt::format("| {} | {} | {} | {:.0f} % | {:.4f} % | {:+.4f} % |\n", bar.what, bar.bar, covered.size(),
                           equal, median_error(covered), worst_of(covered).percent());
    }
    int ran = 0;
    std::size_t too_large = 0;
    for (const auto& [name, source] : sources) {
        ran += source.on_cards;
        too_large += source.too_large.size();
    }
    CHECK(static_cast<double>(too_large) <= 0.02 * ran);
    return out + fmt::format("| too large, but ran on the GPU | 2 % | {} | {} | | |\n\n", ran, too_large);
}

std::string summary(const Source& source) {
    std::map<std::string, std::vector<Reading>> by_quantity;
    for (const Reading& r : source.readings) by_quantity[r.quantity].push_back(r);
    std::string out = "| quantity | readings | equal | median error | worst |\n|---|--:|--:|--:|--:|\n";
    for (const auto& [quantity, readings] : by_quantity)
        out += fmt::format("| {} | {} | {} | {:.4f} % | {:+.4f} % |\n", quantity, readings.size(), equal_of(readings),
                           median_error(readings), worst_of(readings).percent());
    return out;
}

/// What is not equal, worst first; causes are letters, explained below the table.
std::string differences(Source source) {
    std::sort(source.readings.begin(), source.readings.end(), worse);
    std::string rows;
    std::vector<std::string> causes;
    for (const Reading& r : source.readings) {
        if (r.equal()) continue;
        const std::string cause = cause_of(r);
        auto at = std::find(causes.begin(), causes.end(), cause);
        if (at == causes.end()) at = causes.insert(at, cause);
        rows += fmt::format("| {} | {} | {} | {} | {:+.4f} % | {} |\n", r.job, r.quantity, r.measured, r.predicted,
                            r.percent(), static_cast<char>('a' + (at - causes.begin())));
    }
    if (rows.empty()) return "Every reading is equal.\n";
    std::string out =
        "| job | quantity | measured | predicted | error | cause |\n|---|---|--:|--:|--:|---|\n" + rows + "\n";
    for (std::size_t i = 0; i < causes.size(); ++i)
        out += fmt::format("* {}: {}\n", static_cast<char>('a' + i), causes[i]);
    return out;
}

}  // namespace

TEST_CASE("published measurements: docs/accuracy.md shows every one") {
    const Sources sources = published_sources();
    std::string page = "## Figures\n\n" + figures(sources);
    for (const auto& [name, source] : sources) {
        page += fmt::format("## {}\n\nCommit {}; {} jobs.\n\n", name, source.commit, source.jobs);
        for (const auto& [reason, jobs] : source.refused) page += fmt::format("* {} not predicted: {}\n", jobs, reason);
        if (!source.refused.empty()) page += "\n";
        if (source.readings.empty()) continue;
        page += summary(source) + "\n" + differences(source) + "\n";
    }
    check_generated("docs/accuracy.md", page);
}

}  // namespace vramfit::test
