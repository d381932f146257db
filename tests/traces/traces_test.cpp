// The windows of the traces of the real libraries against the program's own.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "traces/reference.hpp"

namespace vramfit::test {

namespace {

/// What tests/data/traces_expected.jsonl says of a trace: how many windows are equal, or the reason of a refusal.
struct Expected {
    std::size_t requested = 0;
    std::size_t allocated = 0;
    bool refused = false;
};

std::map<std::string, Expected> expected() {
    std::map<std::string, Expected> out;
    std::ifstream in(VRAMFIT_TEST_DATA_DIR "/traces_expected.jsonl");
    for (std::string line; std::getline(in, line);) {
        const auto row = nlohmann::json::parse(line);
        out[row["name"]] = {row.value("requested", std::size_t{0}), row.value("allocated", std::size_t{0}),
                            row.value("refused", false)};
    }
    return out;
}

}  // namespace

TEST_CASE("every trace: windows equal to the byte are never fewer than before") {
    const auto wanted = expected();
    // VRAMFIT_WRITE_EXPECTED=FILE writes the table anew.
    const char* const file = std::getenv("VRAMFIT_WRITE_EXPECTED");
    std::ofstream out;
    if (file) out.open(file);
    std::size_t windows = 0, requested = 0, allocated = 0;
    for (const Trace& trace : traces()) {
        const Comparison c = compare(trace);
        const bool refused = c.unsupported || c.refused;
        if (file) {
            nlohmann::json row{{"name", trace.name}};
            if (refused)
                row["refused"] = true;
            else
                row.update(
                    {{"windows", c.windows}, {"requested", c.requested_equal}, {"allocated", c.allocated_close}});
            out << row.dump() << "\n";
            continue;
        }
        INFO(trace.name << " " << c.message << (c.differing.empty() ? "" : c.differing[0]));
        REQUIRE(wanted.count(trace.name) == 1);
        const Expected& e = wanted.at(trace.name);
        CHECK(refused == e.refused);
        CHECK(c.requested_equal >= e.requested);
        CHECK(c.allocated_close >= e.allocated);
        if (refused) continue;
        CHECK((trace.refusal.empty() || !e.requested));
        windows += c.windows;
        requested += c.requested_equal;
        allocated += c.allocated_close;
    }
    if (file) return;
    CHECK(static_cast<double>(requested) >= 0.9 * static_cast<double>(windows));
    CHECK(static_cast<double>(allocated) >= 0.9 * static_cast<double>(windows));
}

}  // namespace vramfit::test
