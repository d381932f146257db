// Every file says what it is, heavy libraries stay out of headers, and no include is ambiguous.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "tree/source.hpp"

namespace {

std::string_view first_line(std::string_view text, std::size_t index = 0) {
    const auto lines = tree::lines_of(text);
    return index < lines.size() ? lines[index] : std::string_view();
}

}  // namespace

TEST_CASE("every source file begins with a comment that says what it is") {
    tree::Findings findings;
    for (const tree::Source& file : tree::all_cpp()) {
        if (!first_line(file.text).starts_with("// ")) findings.push_back(file.path);
    }
    for (const tree::Source& file : tree::sources({"cmake", "tests", "bench"}, {".cmake", ".in", ".txt"})) {
        const bool is_cmake = !file.path.ends_with(".txt") || file.path.ends_with("CMakeLists.txt");
        if (is_cmake && !first_line(file.text).starts_with("# ")) findings.push_back(file.path);
    }
    for (const tree::Source& file : tree::sources({".ci", "tools", "tests"}, {".sh", ".py", ""})) {
        const bool is_script = first_line(file.text).starts_with("#!");
        const std::string_view second = first_line(file.text, 1);
        const bool said = second.starts_with("# ") || second.starts_with("\"\"\"");
        if (is_script && !said) findings.push_back(file.path);
    }
    CHECK(tree::listed(findings) == "");
}

TEST_CASE("nothing lies at the top of the tree that does not belong there") {
    const std::set<std::string> known = {".cache",
                                         ".ci",
                                         ".vscode",
                                         "cmake",
                                         "docs",
                                         "include",
                                         "models",
                                         "src",
                                         "tests",
                                         "tools",
                                         ".clang-format",
                                         ".clang-tidy",
                                         ".editorconfig",
                                         ".git",
                                         ".gitignore",
                                         ".pre-commit-hooks.yaml",
                                         "CHANGELOG.md",
                                         "CMakeLists.txt",
                                         "CMakePresets.json",
                                         "CMakeUserPresets.json",
                                         "CONTRIBUTING.md",
                                         "LICENSE",
                                         "README.md",
                                         "action.yml",
                                         "compile_commands.json",
                                         "pyproject.toml"};
    tree::Findings findings;
    for (const std::string& name : tree::top_level_entries())
        if (!known.contains(name) && !name.starts_with("build")) findings.push_back(name);
    CHECK(tree::listed(findings) == "");
}

TEST_CASE("JSON, CLI11, spdlog and yaml-cpp are included by no header") {
    tree::Findings findings;
    for (const tree::Source& file : tree::sources({"include", "src"}, {".hpp"})) {
        for (const std::string_view line : tree::lines_of(file.text)) {
            if (!line.starts_with("#include <")) continue;
            for (const std::string_view heavy : {"<nlohmann/", "<CLI/", "<spdlog/", "<yaml-cpp/"}) {
                if (line.find(heavy) != std::string_view::npos)
                    findings.push_back(fmt::format("{}: {}", file.path, line));
            }
        }
    }
    CHECK(tree::listed(findings) == "");
}

TEST_CASE("public headers carry nothing but the standard library") {
    tree::Findings findings;
    for (const tree::Source& file : tree::sources({"include"}, {".hpp"})) {
        for (const std::string_view line : tree::lines_of(file.text)) {
            const bool own = line.starts_with("#include \"vramfit/");
            const bool standard = line.starts_with("#include <") && line.find_first_of("./") == std::string_view::npos;
            if (line.starts_with("#include") && !own && !standard) {
                findings.push_back(fmt::format("{}: {}", file.path, line));
            }
        }
    }
    CHECK(tree::listed(findings) == "");
}

TEST_CASE("every header has its guard") {
    tree::Findings findings;
    for (const tree::Source& file : tree::all_cpp()) {
        if (file.path.ends_with(".hpp") && file.text.find("\n#pragma once\n") == std::string::npos) {
            findings.push_back(file.path);
        }
    }
    CHECK(tree::listed(findings) == "");
}

TEST_CASE("no two files differ only in case, and no private header has the name of a public one") {
    tree::Findings findings;
    std::set<std::string> seen;
    for (const tree::Source& file : tree::all_cpp()) {
        std::string name = file.path;
        for (const std::string_view prefix : {"include/vramfit/", "src/"}) {
            if (name.starts_with(prefix)) name.erase(0, prefix.size());
        }
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        if (!seen.insert(name).second) findings.push_back(file.path);
    }
    CHECK(tree::listed(findings) == "");
}
