// The project's own source files as text, for tests that read the tree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tree {

struct Source {
    std::string path;  ///< relative to the repository: "src/engine/tape.cpp"
    std::string text;
};

/// One violation: "src/engine/tape.cpp:12: includes alloc/pool.hpp".
using Findings = std::vector<std::string>;

/// Every file below the folders with one of the extensions (".hpp"), in order of paths.
std::vector<Source> sources(const std::vector<std::string>& folders, const std::vector<std::string>& extensions);

/// Names of the files and folders at the top of the tree, in order.
std::vector<std::string> top_level_entries();

/// All C++ of the project: src, include, tests and bench.
const std::vector<Source>& all_cpp();

/// The text with comments, contents of literals and preprocessor lines turned into spaces; lines stay where they are.
std::string code_only(std::string_view text);

std::vector<std::string_view> lines_of(std::string_view text);

/// What an include line names, if it names a file of this project.
std::optional<std::string_view> own_include(std::string_view line);

/// The findings as one text, empty if there are none: a failing test prints all at once.
std::string listed(const Findings& findings);

}  // namespace tree
