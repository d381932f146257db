// Python refuses a repeat of a repeat, which the standard library takes; what takes too long is found another way.
#include "spec/regular_expression.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit {

namespace {

/// What decides how long a backtracking search may take, and what Python refuses.
struct Repeats {
    int unbounded = 0;      ///< * + {
    bool of_group = false;  ///< of something in brackets
    bool of_repeat = false;
    bool large_number = false;  ///< of repeats, or of a group, that no int holds
};

/// Digits from `at` on.
std::size_t digits_at(std::string_view pattern, std::size_t at) {
    const std::size_t end = std::min(pattern.find_first_not_of("0123456789", at), pattern.size());
    return end > at ? end - at : 0;
}

/// libstdc++'s compiler of expressions overflows an int with more digits.
constexpr std::size_t kMostDigits = 9;

bool is_repeat(char c) { return c == '*' || c == '+' || c == '{'; }

Repeats repeats_in(std::string_view pattern) {
    Repeats found;
    bool in_class = false;
    char before = '\0';  // 'r': a repeat, ')': a group
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = pattern[i];
        if (c == '\\') {
            found.large_number |= digits_at(pattern, i + 1) > kMostDigits;
            ++i;
            before = 'a';
        } else if (in_class) {
            in_class = c != ']';
            before = 'a';
        } else if (c == '[') {
            in_class = true;
        } else if (is_repeat(c)) {
            ++found.unbounded;
            found.of_group |= before == ')';
            found.of_repeat |= before == 'r';
            if (c == '{') {
                const std::size_t end = std::min(pattern.find('}', i), pattern.size());
                for (; i < end && !found.large_number; ++i) found.large_number = digits_at(pattern, i) > kMostDigits;
                i = end;
            }
            before = 'r';
        } else if (c == '?') {
            before = before == 'r' ? 'l' : 'r';  // behind a repeat: as few as possible
        } else {
            before = c == ')' ? ')' : 'a';
        }
        if (before == 'l') before = 'r';
    }
    return found;
}

}  // namespace

std::regex regular_expression(const std::string& pattern, std::string_view where) {
    const auto refuse = [&](const char* hint) {
        throw Error(ErrorKind::invalid, std::string(where), fmt::format("'{}' is no regular expression", pattern),
                    hint);
    };
    const Repeats repeats = repeats_in(pattern);
    if (repeats.of_repeat) refuse("a repeat (* + ? {}) stands behind another one");
    if (repeats.large_number) refuse("the number of a repeat or of a group is too large");
    auto how = std::regex::ECMAScript;
#ifdef __GLIBCXX__
    // A backtracking search takes time that grows with the power of the number of repeats, or exponentially; other
    // standard libraries stop by themselves.
    if (repeats.of_group || repeats.unbounded > 4) how |= std::regex_constants::__polynomial;
#endif
    try {
        return std::regex(pattern, how);
    } catch (const std::regex_error&) {
        refuse("named groups and other extensions of Python's expressions are not understood");
    }
    return {};
}

}  // namespace vramfit
