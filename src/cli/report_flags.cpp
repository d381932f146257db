// The flags that say in which format a result is written, and where to.
#include "cli/report_flags.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "cli/help.hpp"
#include "cli/output.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::cli {

namespace {

constexpr int kWidest = 120;
constexpr int kNarrowest = 20;

std::vector<const Format*> formats_in_order(bool (*writes)(const Format&)) {
    const auto all = all_formats();
    std::vector<const Format*> sorted;
    std::copy_if(all.begin(), all.end(), std::back_inserter(sorted), [&](const Format* each) { return writes(*each); });
    std::sort(sorted.begin(), sorted.end(), [](const Format* a, const Format* b) { return a->order < b->order; });
    return sorted;
}

/// COLUMNS where it is set, else the terminal's width, else 80.
int width_of_output() {
    const char* columns = std::getenv("COLUMNS");
    int width = 0;
    if (columns) std::from_chars(columns, columns + std::strlen(columns), width);
    winsize size{};
    if (width <= 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
    return std::clamp(width > 0 ? width : 80, kNarrowest, kWidest);
}

}  // namespace

void ReportFlags::add(CLI::App& app) {
    std::string help = "How the result is written:";
    for (const Format* each : formats_in_order(writes)) help += fmt::format(" {} ({}),", each->name, each->summary);
    help.back() = ' ';
    add_value(app, "--format", format, "FORMAT", fmt::format("{}[text]", help))->group("Output");
    add_value(app, "--output", output, "FILE", "Write the result to FILE; - is standard output [-]")->group("Output");
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
    layout.width = width_of_output();
    if (output != "-") return layout;
    const bool terminal = ::isatty(STDOUT_FILENO) == 1;
    const char* kind = std::getenv("TERM");
    const char* no_color = std::getenv("NO_COLOR");
    layout.colour = terminal && (!no_color || !*no_color) && kind && std::strcmp(kind, "dumb") != 0;
    return layout;
}

void ReportFlags::deliver(const std::string& text) const { write_result(text, output); }

}  // namespace vramfit::cli
