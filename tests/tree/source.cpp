// Reads source files and blanks out of them what is not code.
#include "tree/source.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace tree {
namespace {

namespace fs = std::filesystem;

/// A cursor over the text that copies code and blanks the rest.
struct Blanker {
    std::string_view in;
    std::string out;

    bool at(std::string_view what) const { return in.substr(out.size(), what.size()) == what; }
    bool done() const { return out.size() >= in.size(); }
    void keep() { out.push_back(in[out.size()]); }
    void blank() { out.push_back(in[out.size()] == '\n' ? '\n' : ' '); }
    void blank(std::size_t count) {
        while (count-- > 0 && !done()) blank();
    }
    void blank_until(std::string_view end) {
        while (!done() && !at(end)) blank();
        blank(end.size());
    }
    void blank_literal(char quote) {
        blank();
        while (!done() && !at({&quote, 1}) && !at("\n")) blank(at("\\") ? 2 : 1);
        if (!at("\n")) blank(1);
    }
    void blank_directive() {
        while (!done() && !at("\n")) {
            if (at("/*")) {
                blank_until("*/");
            } else {
                blank(at("\\\n") ? 2 : 1);
            }
        }
    }
    bool starts_line() const {
        const std::size_t line = out.find_last_of('\n') + 1;
        return out.find_first_not_of(" \t", line) == std::string::npos;
    }
    bool after_digit_or_name() const {
        return !out.empty() && std::isalnum(static_cast<unsigned char>(out.back())) != 0;
    }
};

}  // namespace

std::string code_only(std::string_view text) {
    Blanker cursor{text, {}};
    while (!cursor.done()) {
        if (cursor.at("//")) {
            cursor.blank_until("\n");
        } else if (cursor.at("/*")) {
            cursor.blank_until("*/");
        } else if (cursor.at("R\"")) {
            const std::size_t start = cursor.out.size() + 2;
            const std::size_t open = text.find('(', start);
            const std::string end = fmt::format("){}\"", text.substr(start, open - start));
            cursor.blank_until(end);
        } else if (cursor.at("\"")) {
            cursor.blank_literal('"');
        } else if (cursor.at("'") && !cursor.after_digit_or_name()) {
            cursor.blank_literal('\'');
        } else if (cursor.at("#") && cursor.starts_line()) {
            cursor.blank_directive();
        } else {
            cursor.keep();
        }
    }
    return cursor.out;
}

std::vector<std::string> top_level_entries() {
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(VRAMFIT_SOURCE_DIR)))
        found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<Source> sources(const std::vector<std::string>& folders, const std::vector<std::string>& extensions) {
    const fs::path root = VRAMFIT_SOURCE_DIR;
    std::vector<Source> found;
    for (const std::string& folder : folders) {
        if (!fs::exists(root / folder)) continue;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
            if (!entry.is_regular_file()) continue;
            const std::string extension = entry.path().extension().string();
            if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) continue;
            std::ifstream file(entry.path(), std::ios::binary);
            found.push_back({fs::relative(entry.path(), root).generic_string(),
                             std::string(std::istreambuf_iterator<char>(file), {})});
        }
    }
    std::sort(found.begin(), found.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
    return found;
}

const std::vector<Source>& all_cpp() {
    static const std::vector<Source> files = sources({"src", "include", "tests", "bench"}, {".cpp", ".hpp"});
    return files;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::optional<std::string_view> own_include(std::string_view line) {
    if (!line.starts_with("#include ")) return {};
    line.remove_prefix(9);
    const bool own = line.starts_with("\"") || line.starts_with("<vramfit/");
    if (!own) return {};
    return line.substr(1, line.find_first_of("\">", 1) - 1);
}

std::string listed(const Findings& findings) {
    std::string text;
    for (const std::string& finding : findings) text.append(finding).append("\n");
    return text;
}

}  // namespace tree
