// Version numbers of libraries: reading and writing.
#include "vramfit/spec/version.hpp"

#include <charconv>

#include <fmt/format.h>

namespace vramfit {

namespace {

// Takes a number of at most six digits off the front of `text`.
std::optional<int> take_number(std::string_view& text) {
    int number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end == text.data() || end - text.data() > 6 || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

// What may follow the numbers: "rc1", ".dev0", ".post1", "+cu130", "-beta" (PEP 440 and its common variants).
bool is_suffix(std::string_view text) {
    if (text.empty()) return true;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto separator = [](char c) { return c == '.' || c == '+' || c == '-' || c == '_'; };
    if (!separator(text.front()) && !letter(text.front())) return false;
    bool after_separator = false;  // a separator must have something behind it
    for (const char c : text) {
        if (separator(c) ? after_separator : !letter(c) && !digit(c)) return false;
        after_separator = separator(c);
    }
    return !after_separator;
}

}  // namespace

std::optional<Version> version_from(std::string_view text) {
    Version version;
    int* const parts[] = {&version.major, &version.minor, &version.patch};
    for (int i = 0; i < 3; ++i) {
        const auto number = take_number(text);
        if (!number) return std::nullopt;
        *parts[i] = *number;
        const bool more = text.size() > 1 && text.front() == '.' && text[1] >= '0' && text[1] <= '9';
        if (!more) break;
        if (i == 2) break;
        text.remove_prefix(1);
    }
    return is_suffix(text) ? std::optional(version) : std::nullopt;
}

std::string text_of(const Version& version) {
    return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace vramfit
