// The flags that say in which format a result is written, and where to.
#include "cli/report_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/platform.hpp"
#include "cli/words.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::cli {

namespace {

constexpr int kWidest = 120;  // of prose: longer lines are hard to read
constexpr int kNarrowest = 20;
constexpr int kUnlimited = 1'000'000;

enum class Color : std::uint8_t { automatic, always, never };
constexpr Named<Color> kColors[] = {{"auto", Color::automatic}, {"always", Color::always}, {"never", Color::never}};

std::vector<const Format*> formats_in_order(bool (*writes)(const Format&)) {
    const auto all = all_formats();
    std::vector<const Format*> sorted;
    std::copy_if(all.begin(), all.end(), std::back_inserter(sorted), [&](const Format* each) { return writes(*each); });
    std::sort(sorted.begin(), sorted.end(), [](const Format* a, const Format* b) { return a->order < b->order; });
    return sorted;
}

/// COLUMNS where it is set, else the terminal's width, else nothing: a file or a pipe has no width.
std::optional<int> width_of_output(bool to_file) {
    const char* columns = std::getenv("COLUMNS");
    int width = 0;
    if (columns) std::from_chars(columns, columns + std::strlen(columns), width);
    if (width <= 0 && !to_file) width = terminal_width();
    return width > 0 ? std::optional(std::max(width, kNarrowest)) : std::nullopt;
}

/// A terminal that shows colours, unless NO_COLOR is set (https://no-color.org).
bool terminal_has_colors() {
    const char* kind = std::getenv("TERM");
    const char* no_color = std::getenv("NO_COLOR");
    return is_terminal(kStandardOutput) && (!no_color || !*no_color) && kind && std::strcmp(kind, "dumb") != 0;
}

}  // namespace

void ReportFlags::add(CLI::App& app) {
    std::string help = "How the result is written:";
    for (const Format* each : formats_in_order(writes)) help += fmt::format(" {} ({}),", each->name, each->summary);
    help.back() = ' ';
    Words names;
    for (const Format* each : formats_in_order(writes)) names.emplace_back(each->name);
    offer(add_value(app, "--format", format, "FORMAT", fmt::format("{}[text]", help)), names)->group("Output");
    add_value(app, "--output", output, "FILE", "Write the result to FILE; - is standard output [-]")->group("Output");
    app.add_flag("-q,--quiet", quiet, "Print errors only; the exit status is the answer")->group("Output");
    offer(add_value(app, "--color", color, "WHEN",
                    "auto (on a terminal, unless NO_COLOR is set), always or never [auto]"),
          words_of<kColors>())
        ->group("Output");
}

const Format& ReportFlags::chosen() const {
    if (const Format* found = find_format(format); found && writes(*found)) return *found;
    std::vector<std::string_view> names;
    for (const Format* each : formats_in_order(writes)) names.emplace_back(each->name);
    throw Error(ErrorKind::invalid, "--format", fmt::format("unknown format '{}'", format),
                did_you_mean(format, names, fmt::format("known: {}", fmt::join(names, ", "))));
}

Layout ReportFlags::layout() const {
    Layout layout;
    const bool to_file = output != "-";
    const std::optional<int> width = width_of_output(to_file);
    if (width) layout.width = std::min(*width, kWidest);
    layout.table_width = width.value_or(kUnlimited);
    const Color when = value_from(color, "--color", kColors);
    layout.colour = when == Color::always || (when == Color::automatic && !to_file && terminal_has_colors());
    return layout;
}

void ReportFlags::deliver(const std::string& text) const {
    if (!quiet || output != "-") write_result(text, output);
}

}  // namespace vramfit::cli
