// Declares the flags of vramfit sweep.
#include "cli/sweep/flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "base/split.hpp"
#include "cli/flags/axes.hpp"
#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/sweep/space_file.hpp"
#include "cli/words.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

void SweepFlags::add(CLI::App& app, const GivenWords& given) {
    plan.add(app, given, sweep_axes(), false);
    add_value(app, "--targets-each", targets_each, "MODULE,...",
              "Every set of these modules or groups, with at least one, in place of --targets")
        ->group("Axes");
    selection.add(app);
    app.add_flag("--no-prune", no_prune,
                 help_text("Simulate every configuration by itself: slow, and the answer is the same"))
        ->group("Ranking");
    add_value(app, "--threads", threads, "N",
              "Threads to search on; the answer is the same [as many as the machine runs]")
        ->group("Ranking");
    app.add_flag("--all-rows", all_rows, "JSON: every row of the space with its status")->group("Ranking");
    offer(add_value(app, "--max", max, "AXIS",
                    "The largest seq, batch or rank that fits, for each combination of the other axes; without values "
                    "of its own up to 131072, 1024 or 512"),
          {"seq", "batch", "rank"})
        ->group("Ranking");
    add_value(app, "--space", space, "FILE", "A sweep file (vramfit.space/1), - for standard input; docs/sweep.md")
        ->group("Model");
    add_value(app, "--shard", shard, "K/N", "Only the K-th of N parts of the space; with --format json for --merge")
        ->group("Parts");
    app.add_option("--merge", merge,
                   help_text("The answer of the whole from the JSON of all parts; without other flags"))
        ->type_name("FILE...")
        ->expected(1, 100'000)
        ->group("Parts");
    report.writes = [](const Format& each) { return each.sweep != nullptr; };
    report.add(app);
    app.add_flag("--no-progress", no_progress, "No line of progress on a terminal")->group("Output");
    add_value(app, "--map", map, "X,Y",
              "SVG: the axes of the map: seq, batch, rank, targets or flags with a list [the two with most values]")
        ->group("Output");
    add_value(app, "--jobs", jobs, "FOLDER", "Write the job file of each row that is shown to FOLDER/row-NUMBER.json")
        ->group("Output");
}

void SweepFlags::ask(SweepReport& asked, Notes& notes) {
    SweepAsked what{plan.choices(), {}, {}, {}};
    what.widen = max.empty();
    if (!space.empty()) {
        SpaceFile file = read_space(space, plan);
        selection.take_bounds(file.bounds, space);
        what.choices.insert(what.choices.end(), file.asked.choices.begin(), file.asked.choices.end());
        what.together = std::move(file.asked.together);
        what.fixed = std::move(file.asked.fixed);
        what.axes = std::move(file.asked.axes);
    }
    if (!targets_each.empty()) {
        if (plan.given("targets") || what.axes.contains("targets"))
            throw Error(ErrorKind::invalid, "--targets-each", "stands beside targets", "give one of the two");
        what.axes["targets"] = each_set_of(targets_each, "--targets-each");
    }
    selection.pair_accumulation(plan, what);
    if (!max.empty()) widen(what);
    cli::ask(plan, what, asked, notes);
    selection.apply(asked);
    asked.all_rows = all_rows;
    if (!map.empty()) {
        for (const std::string_view axis : split(map, ',')) asked.map.emplace_back(axis);
        if (asked.map.size() != 2 || asked.map[0] == asked.map[1])
            throw Error(ErrorKind::invalid, "--map", fmt::format("'{}' are not two axes", map), "e.g. seq,batch");
    }
    if (!max.empty()) {
        asked.largest = max == "sequence" ? "seq" : max;
        if (selection.top.empty()) asked.top = static_cast<std::size_t>(-1);
    }
}

/// The axis of --max without values of its own.
void SweepFlags::widen(SweepAsked& what) const {
    struct Wide {
        SweepAxis axis;
        const char* name;
        const char* range;
    };
    static constexpr Wide kWide[] = {{SweepAxis::length, "seq", "64..131072:+64"},
                                     {SweepAxis::batch, "batch", "1..1024"},
                                     {SweepAxis::rank, "rank", "1..512"}};
    const SweepAxis wanted = largest_axis();
    const Wide& wide =
        *std::find_if(std::begin(kWide), std::end(kWide), [&](const Wide& w) { return w.axis == wanted; });
    const std::string axis = wide.name;
    const bool together = std::any_of(what.together.begin(), what.together.end(),
                                      [&](const Together& t) { return t.front().contains(axis); });
    if (together)
        throw Error(ErrorKind::invalid, "--max", fmt::format("{} moves together with others", axis),
                    "ask for an axis that moves by itself");
    if (!plan.given(axis) && !what.axes.contains(axis)) what.axes[axis] = wide.range;
}

SweepAxis SweepFlags::largest_axis() const {
    if (max == "rank") return SweepAxis::rank;
    if (max == "batch") return SweepAxis::batch;
    if (max == "seq" || max == "sequence") return SweepAxis::length;
    throw Error(ErrorKind::invalid, "--max", fmt::format("unknown axis '{}'", max), "known: seq, batch, rank");
}

namespace {

std::size_t threads_from(const std::string& text) {
    constexpr std::int64_t kMost = 1024;
    if (text.empty()) return threads_of_machine();
    const std::int64_t count = integer_from(text, "--threads");
    if (count > kMost)
        throw Error(ErrorKind::invalid, "--threads", fmt::format("{} are too many", count),
                    fmt::format("at most {}; this machine runs {} at once", kMost, threads_of_machine()));
    return static_cast<std::size_t>(count);
}

}  // namespace

SweepOptions SweepFlags::options(const SweepReport& asked) const {
    SweepOptions options;
    options.prune = !no_prune;
    options.selection = asked.selection;
    options.bounds = asked.bounds;
    if (!shard.empty()) options.shard = shard_from(shard);
    options.threads = threads_from(threads);
    if (report.format == "svg" || report.format == "html") {  // every cell of a map is certain
        options.dominance = false;
        options.selection.top = 0;
    }
    return options;
}

SweepShard shard_from(const std::string& text) {
    const std::size_t slash = text.find('/');
    if (slash == text.npos)
        throw Error(ErrorKind::invalid, "--shard", fmt::format("'{}' is no part", text),
                    "K/N: 2/5 is the second of five");
    const auto part = integer_from(std::string_view(text).substr(0, slash), "--shard");
    const auto of = integer_from(std::string_view(text).substr(slash + 1), "--shard");
    if (part > of)
        throw Error(ErrorKind::invalid, "--shard", fmt::format("there is no part {} of {}", part, of),
                    "parts are counted from 1");
    return {static_cast<std::size_t>(part), static_cast<std::size_t>(of)};
}

std::vector<std::string> arguments_of(const CLI::App& app) {
    constexpr std::string_view kOwn[] = {"--shard",   "--merge", "--output", "--format", "--jobs",       "--map",
                                         "--threads", "--help",  "--quiet",  "--color",  "--no-progress"};
    std::vector<std::string> out;
    for (const CLI::Option* option : app.get_options()) {
        const std::string name = option->get_name();
        if (option->count() == 0 || std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn)) continue;
        if (name.starts_with("-")) out.push_back(name);
        if (option->get_expected_max() == 0 && option->get_expected_min() == 0 && option->get_type_size_max() == 0)
            continue;
        for (const std::string& value : option->results())
            if (value != "{}") out.push_back(value);
    }
    return out;
}

}  // namespace vramfit::cli
