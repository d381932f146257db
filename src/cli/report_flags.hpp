// The flags that say in which format a result is written, and where to.
#pragma once

#include <string>

#include "vramfit/report/format.hpp"

namespace CLI {
class App;
}

namespace vramfit::cli {

/// --format, --output, --quiet and --color.
struct ReportFlags {
    std::string format = "text";
    std::string output = "-";
    std::string color = "auto";
    bool quiet = false;  ///< nothing on standard output; a file is written all the same
    /// Which formats the command's result can be written in.
    bool (*writes)(const Format&) = [](const Format& each) { return each.prediction != nullptr; };

    void add(CLI::App& app);
    /// Throws Error (invalid) for an unknown format.
    const Format& chosen() const;
    /// What the reader's screen can show: as wide as COLUMNS or the terminal; without either, prose has 80 columns and
    /// tables have all of theirs. Throws Error (invalid) for an unknown --color.
    Layout layout() const;
    /// Writes a result to where it belongs.
    void deliver(const std::string& text) const;
};

}  // namespace vramfit::cli
