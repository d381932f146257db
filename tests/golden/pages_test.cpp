// Pages and pictures of runs: a golden picture, and pages whose structure and data are looked at.
#include <nlohmann/json.hpp>

#include "example.hpp"
#include "picture.hpp"
#include "support/catch.hpp"
#include "vramfit/alloc/walk.hpp"
#include "vramfit/snapshot/snapshot.hpp"

using namespace vramfit;
using Json = nlohmann::json;

namespace {

/// Four windows: two tensors that stay, one that comes and goes in a layer.
DrawnRun drawn_example() {
    DrawnRun run;
    run.title = "example-2b, method <b>\"full\" & more</b>";
    run.command = "vramfit timeline example-2b --method '</script>'";
    run.program.ops = {"aten::empty", "aten::mm"};
    run.program.modules = {"", "mlp.down_proj"};
    run.program.windows = {{{PhaseKind::start, -1, -1, -1}, 0},
                           {{PhaseKind::load, -1, -1, -1}, 0},
                           {{PhaseKind::forward_layer, 0, -1, 0}, 2},
                           {{PhaseKind::optimizer, 0, -1, -1}, 4}};
    run.program.allocations = {{3 * kGiB, Category::weights, 0, -1, 0, 0},
                               {kGiB / 2 + 100, Category::adapters, 0, -1, 0, 0},
                               {kGiB, Category::stored_activations, 1, 0, 0, 1},
                               {kGiB / 4, Category::optimizer_states, 0, -1, 0, 0}};
    run.program.events = {{EventKind::alloc, 0, 0},
                          {EventKind::alloc, 1, 0},
                          {EventKind::alloc, 2, 0},
                          {EventKind::free, 2, 0},
                          {EventKind::alloc, 3, 0}};
    run.prediction = test::example_prediction();
    run.prediction.peaks.resize(2);
    run.prediction.peaks[0].at = 2;
    run.prediction.peaks[1].at = 3;
    return run;
}

TimelineReport drawn_report() {
    TimelineReport report;
    report.model = "example-2b";
    report.drawn = {drawn_example()};
    report.notes = {{NoteKind::assumed_card, "a <note>", "a hint"}};
    return report;
}

std::size_t count_of(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
    return count;
}

/// One file that needs no other, and in which nothing that was given stands unescaped.
void check_page(const std::string& page, bool script) {
    CHECK(page.starts_with("<!DOCTYPE html>"));
    CHECK(page.ends_with("</html>\n"));
    CHECK(page.find("default-src 'none'") != page.npos);
    CHECK(page.find("prefers-color-scheme: dark") != page.npos);
    CHECK(count_of(page, "<script") == (script ? 2 : 0));
    CHECK(count_of(page, "</script>") == (script ? 2 : 0));
    for (const char* loads : {"src=\"", "@import", "url(http", "fetch(", "XMLHttpRequest", "https://"})
        CHECK(page.find(loads) == page.npos);
}

Json data_of(const std::string& page) {
    const std::string begin = "<script id=\"data\" type=\"application/json\">";
    const std::size_t at = page.find(begin);
    REQUIRE(at != page.npos);
    const std::size_t from = at + begin.size();
    return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::vector<std::uint64_t> numbers_of(const std::string& base64) {
    const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::vector<std::uint64_t> out;
    std::uint32_t bits = 0;
    int count = 0, shift = 0;
    std::uint64_t value = 0;
    for (const char c : base64) {
        if (c == '=') break;
        bits = (bits << 6) | static_cast<std::uint32_t>(digits.find(c));
        count += 6;
        if (count < 8) continue;
        count -= 8;
        const std::uint32_t byte = (bits >> count) & 255;
        value |= std::uint64_t{byte & 127} << shift;
        shift += 7;
        if (byte >= 128) continue;
        out.push_back(value);
        value = 0;
        shift = 0;
    }
    return out;
}

}  // namespace

TEST_CASE("a run as a picture for documents") {
    const Format& svg = *find_format("svg");
    test::check_picture("timeline.svg", svg.timeline(drawn_report(), {}));
    TimelineReport two = drawn_report();
    two.drawn.push_back(drawn_example());
    CHECK(count_of(svg.timeline(two, {}), "class=\"title\"") == 2);
}

TEST_CASE("a run as a page") {
    const std::string page = find_format("html")->timeline(drawn_report(), {});
    check_page(page, true);
    CHECK(page.find("<note>") == page.npos);
    const Json run = data_of(page)["runs"][0];
    CHECK(run["title"] == drawn_example().title);
    CHECK(run["command"] == drawn_example().command);
    CHECK(run["limit"] == drawn_example().prediction.device.usable.count);
    CHECK(run["windows"].size() == 4);
    CHECK(run["peaks"][1][3] == 3);
}

TEST_CASE("the page's data are the events of the run") {
    const DrawnRun example = drawn_example();
    const Json run = data_of(find_format("html")->timeline(drawn_report(), {}))["runs"][0];
    const std::vector<std::uint64_t> code = numbers_of(run["events"]);
    std::vector<std::int64_t> bytes, levels = {0}, allocated = {0};
    std::vector<std::int64_t> blocks;
    for (std::size_t i = 0; i < code.size();) {
        const std::uint64_t word = code[i++];
        const Json kind = word % 4 == 0 ? run["kinds"][word / 4] : Json();
        if (word % 4 == 0) {
            bytes.push_back(kind[0]);
            blocks.push_back(kind[0].get<std::int64_t>() + kind[1].get<std::int64_t>());
            CHECK(code[i++] == (bytes.size() == 3 ? 1u : 0u));  // layer + 1
            levels.push_back(levels.back() + bytes.back());
            allocated.push_back(allocated.back() + blocks.back());
        } else {
            REQUIRE(word % 4 == 1);
            levels.push_back(levels.back() - bytes[bytes.size() - 1 - word / 4]);
            allocated.push_back(allocated.back() - blocks[bytes.size() - 1 - word / 4]);
        }
    }
    const std::vector<EventLevels> real = levels_by_event(example.program, example.allocator);
    REQUIRE(levels.size() == real.size() + 1);
    for (std::size_t i = 0; i < real.size(); ++i) CHECK(allocated[i + 1] == real[i].allocated);
    CHECK(levels == std::vector<std::int64_t>{0, 3 * kGiB, 7 * kGiB / 2 + 100, 9 * kGiB / 2 + 100, 7 * kGiB / 2 + 100,
                                              15 * kGiB / 4 + 100});
    std::int64_t reserved = 0;
    for (std::size_t i = 1; i < run["reserved"].size(); i += 2) reserved += run["reserved"][i].get<std::int64_t>();
    CHECK(reserved == real.back().reserved);
}

TEST_CASE("an answer as a page to send around") {
    PredictionPage page{test::example_prediction(), "vramfit predict '<b>'", std::nullopt};
    const std::string fits = find_format("html")->page(page, {});
    check_page(fits, false);
    CHECK(fits.find("It fits.") != fits.npos);
    CHECK(fits.find("&#39;&lt;b&gt;&#39;") != fits.npos);
    for (const PeakResult& peak : page.prediction.peaks) CHECK(fits.find(peak.window) != fits.npos);
    page.prediction = test::example_too_large();
    CHECK(find_format("html")->page(page, {}).find("It does not fit.") != std::string::npos);
    page.prediction.verdict = Verdict::not_asked;
    page.prediction.device = Device{};
    check_page(find_format("html")->page(page, {}), false);
}

TEST_CASE("a run as PyTorch's snapshot") {
    TimelineReport report = drawn_report();
    report.drawn[0].allocator.capacity = Bytes{4 * kGiB};
    const Snapshot snapshot = read_snapshot(find_format("snapshot")->timeline(report, {}), "file");
    CHECK(snapshot.entries.back().action == SnapshotAction::oom);
}
