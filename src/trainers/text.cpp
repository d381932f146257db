// What every reader of text asks first: is it text, and which kind.
#include <fmt/format.h>

#include "trainers/read_text.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

// Bytes that follow the first one of a UTF-8 character, or -1.
int continuation_bytes(unsigned char first) {
    if (first < 0x80) return 0;
    if (first >= 0xC2 && first <= 0xDF) return 1;
    if (first >= 0xE0 && first <= 0xEF) return 2;
    if (first >= 0xF0 && first <= 0xF4) return 3;
    return -1;
}

std::string_view trimmed_start(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

bool has_ending(std::string_view file, std::initializer_list<std::string_view> endings) {
    for (const std::string_view ending : endings)
        if (file.ends_with(ending)) return true;
    return false;
}

/// The first line that is neither empty nor a comment.
std::string_view first_command(std::string_view text) {
    while (!text.empty()) {
        const std::string_view line = trimmed_start(text.substr(0, text.find('\n')));
        if (!line.empty() && line[0] != '#') return line;
        text.remove_prefix(std::min(text.size(), text.find('\n') == text.npos ? text.size() : text.find('\n') + 1));
    }
    return {};
}

bool starts_with_word(std::string_view line, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) {
        if (!line.starts_with(word)) continue;
        if (line.size() == word.size() || line[word.size()] == ' ' || line[word.size()] == '\\') return true;
    }
    return false;
}

bool is_assignment(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos) return false;
    for (const char c : line.substr(0, equals))
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
    return equals + 1 == line.size() || line[equals + 1] != ' ';
}

}  // namespace

void check_text(std::string_view text, const std::string& file) {
    if (text.size() > kLargestTrainerFile)
        throw Error(ErrorKind::invalid, file, "more than 4 MiB", "a training configuration is a small file");
    int line = 1;
    std::size_t line_start = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        int more = continuation_bytes(c);
        for (int k = 1; k <= more; ++k) {
            const std::size_t at = i + static_cast<std::size_t>(k);
            if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) more = -1;
        }
        const bool control = (c < 0x20 && c != '\n' && c != '\t' && c != '\r' && c != '\f') || c == 0x7F;
        if (more < 0 || control)
            throw Error(ErrorKind::invalid, text_of(FilePlace{file, {line, static_cast<int>(i - line_start) + 1}}),
                        fmt::format("the byte 0x{:02x} is no text", c), "give a text file in UTF-8");
        i += static_cast<std::size_t>(more);
        if (c == '\n') {
            ++line;
            line_start = i + 1;
        }
    }
}

Syntax syntax_of(std::string_view text, std::string_view file) {
    if (has_ending(file, {".yaml", ".yml"})) return Syntax::yaml;
    if (has_ending(file, {".json"})) return Syntax::json;
    if (has_ending(file, {".sh", ".bash"})) return Syntax::shell;
    if (has_ending(file, {".py"})) return Syntax::python;
    if (has_ending(file, {".ipynb"})) return Syntax::notebook;
    const std::string_view start = trimmed_start(text);
    if (start.starts_with('{')) return Syntax::json;
    if (start.starts_with("#!") && start.substr(0, start.find('\n')).find("python") == std::string_view::npos)
        return Syntax::shell;
    const std::string_view line = first_command(text);
    if (starts_with_word(line, {"import", "from", "def", "class"}) || start.starts_with("#!")) return Syntax::python;
    if (starts_with_word(line, {"python", "python3", "accelerate", "torchrun", "deepspeed", "swift", "trl", "tune",
                                "llamafactory-cli", "axolotl", "litgpt", "export", "set", "megatron", "cd", "uv"}) ||
        is_assignment(line))
        return Syntax::shell;
    return Syntax::yaml;
}

}  // namespace vramfit::trainers
