// Pictures of every report in every format.
#include <fmt/format.h>

#include "base/text_table.hpp"
#include "example.hpp"
#include "picture.hpp"
#include "support/catch.hpp"
#include "vramfit/base/dtype.hpp"

using namespace vramfit;
using test::check_picture;

namespace {

const Format& text() { return *find_format("text"); }
const Format& json() { return *find_format("json"); }

int widest_line(std::string_view all) {
    int widest = 0;
    while (!all.empty()) {
        const std::size_t end = std::min(all.find('\n'), all.size());
        widest = std::max(widest, width_of(all.substr(0, end)));
        all.remove_prefix(std::min(end + 1, all.size()));
    }
    return widest;
}

ReportTable example_table() {
    return {
        "vramfit.fruits/1",
        "fruits",
        {{"name", "name"}, {"size", "size"}, {"ripe", "ripe", 1}, {"count", "count", 2}, {"colours", ""}},
        {{std::string("apple"), Bytes{3 * kGiB / 2}, true, std::int64_t{12}, std::vector<std::string>{"red", "green"}},
         {std::string("a \"quoted\" plum"), Bytes{12 * kGiB}, false, std::monostate{}, std::vector<std::string>{}}}};
}

}  // namespace

TEST_CASE("the answer as text, on screens of several widths") {
    const auto width = GENERATE(120, 80, 60, 40);
    const std::string picture = text().prediction(test::example_prediction(), {width, width, false});
    CHECK(widest_line(picture) <= width);
    check_picture(fmt::format("prediction_{}.txt", width), picture);
}

TEST_CASE("the answer with all details") {
    const auto width = GENERATE(120, 80, 60, 40);
    const std::string picture =
        text().prediction(test::example_prediction(), {.width = width, .table_width = width, .details = true});
    CHECK(widest_line(picture) <= width);
    check_picture(fmt::format("details_{}.txt", width), picture);
}

TEST_CASE("the answer when what is assumed decides, on several GPUs, with changes, for an upper bound") {
    check_picture("tight.txt", text().prediction(test::example_tight(), {80, 80, false}));
    check_picture("tight_40.txt", text().prediction(test::example_tight(), {40, 40, false}));
    Prediction bound = test::example_too_large();
    bound.verdict = Verdict::unknown;
    bound.notes = {{NoteKind::upper_bound, "an upper bound", "a hint"}};
    check_picture("unknown.txt", text().prediction(bound, {80, 80, false}));
}

TEST_CASE("a bar is as wide as the screen, and each part of it is seen") {
    Prediction p = test::example_tight();
    const auto width = GENERATE(20, 33, 40, 60, 80);
    const auto reserved = GENERATE(std::int64_t{1}, 4000 * kMiB, 7900 * kMiB, 8500 * kMiB, 90000 * kMiB);
    p.peak.reserved = reserved;
    p.verdict = reserved < 7000 * kMiB ? Verdict::fits : reserved < 8000 * kMiB ? Verdict::tight : Verdict::too_large;
    CAPTURE(width, reserved);
    std::string picture = text().prediction(p, {width, width, false});
    const std::size_t first = picture.find('[');
    const std::string bar = picture.substr(first, picture.find('\n', first) - first);
    CHECK(bar.size() == static_cast<std::size_t>(width));
    CHECK(bar.back() == ']');
    CHECK(bar.find('#') != std::string::npos);
    CHECK((bar.find('|') != std::string::npos) == (p.verdict != Verdict::fits));
}

TEST_CASE("the answer when it does not fit, and when no card was given") {
    check_picture("too_large.txt", text().prediction(test::example_too_large(), {80, 80, false}));
    Prediction open = test::example_prediction();
    open.verdict = Verdict::not_asked;
    open.next_larger.clear();
    open.device = Device{};
    check_picture("not_asked.txt", text().prediction(open, {80, 80, false}));
}

TEST_CASE("colours change nothing but colours") {
    const Prediction p = test::example_prediction();
    std::string coloured = text().prediction(p, {80, 80, true});
    CHECK(coloured.find("\x1b[") != std::string::npos);
    for (std::size_t at = 0; (at = coloured.find("\x1b[")) != std::string::npos;)
        coloured.erase(at, coloured.find('m', at) - at + 1);
    CHECK(coloured == text().prediction(p, {80, 80, false}));
}

TEST_CASE("the answer as JSON") {
    check_picture("prediction.json", json().prediction(test::example_prediction(), {}));
    check_picture("too_large.json", json().prediction(test::example_too_large(), {}));
}

TEST_CASE("windows and events of a run") {
    TimelineReport report = test::example_timeline();
    check_picture("timeline.txt", text().timeline(report, {80, 80, false}));
    check_picture("timeline_50.txt", text().timeline(report, {50, 50, false}));
    Program program;
    program.windows = {{{PhaseKind::start, -1, -1, -1}, 0}, {{PhaseKind::load, -1, -1, -1}, 0}};
    program.allocations = {{1000, Category::weights, 0, -1}, {77, Category::optimizer_states, 1, 3}};
    program.ops = {"aten::empty", "paged"};
    program.events = {
        {EventKind::alloc, 0}, {EventKind::managed_alloc, 1}, {EventKind::empty_cache, 0}, {EventKind::free, 0}};
    report.events = program;
    report.timeline.out_of_memory = OutOfMemory{2, 4, 500 * kMiB, 500 * kMiB, 500 * kMiB};
    check_picture("timeline_events.txt", text().timeline(report, {100, 100, false}));
    check_picture("timeline_events.json", json().timeline(report, {}));
}

TEST_CASE("tables of facts") {
    check_picture("table.txt", text().table(example_table(), {80, 80, false}));
    check_picture("table_30.txt", text().table(example_table(), {30, 30, false}));
    check_picture("table.json", json().table(example_table(), {}));
}
