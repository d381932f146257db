// Decides for every opening brace outside of functions whether it opens a function, a scope or data.
#include "tree/lengths.hpp"

#include <algorithm>
#include <regex>
#include <string>

#include "tree/source.hpp"

namespace tree {
namespace {

constexpr std::size_t kLongestSignature = 1500;  // std::regex recurses over what it reads

enum class Brace { function, scope, data, member };

/// Is there a constructor's list of members, that is a single ':' behind the parameters?
bool has_member_list(const std::string& head) {
    static const std::regex pattern(R"(\)[^()]*[^:]:[^:])");
    return std::regex_search(head, pattern);
}

/// Does the text behind the parameters say "const", "noexcept" and the like, or name the type of the result?
bool ends_as_function(const std::string& head) {
    static const std::regex pattern(
        R"(\)\s*(((const|noexcept|override|final|mutable|volatile|try|&+)\s*)+|.*->[^()]*)$)");
    return std::regex_search(head, pattern);
}

/// The text with each run of white space as one space.
std::string squeezed(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool space = c == ' ' || c == '\n' || c == '\t';
        if (!space || (!out.empty() && out.back() != ' ')) out.push_back(space ? ' ' : c);
    }
    return out;
}

Brace kind_of(const std::string& head) {
    if (head.size() > kLongestSignature) return Brace::data;
    static const std::regex scope(
        R"(^\s*(inline\s+)?(template\s*<[^{]*>\s*)?(namespace|extern|class|struct|union|enum)\b)");
    const std::size_t end = head.find_last_not_of(' ');
    if (end == std::string::npos || head.find(')') == std::string::npos) {
        return std::regex_search(head, scope) ? Brace::scope : Brace::data;
    }
    const char last = head[end];
    if (last == '=' || last == ',' || last == '(' || last == '{') return Brace::data;
    if (std::regex_search(head, scope) && last != ')') return Brace::scope;
    if (last == ')' || last == '&' || ends_as_function(head)) return Brace::function;
    return has_member_list(head) ? Brace::member : Brace::data;
}

struct Counter {
    std::string code;
    std::vector<Function> found;
    std::vector<Brace> open;
    std::size_t in_function = 0;  ///< depth of `open` at which the function around us began, or 0
    std::size_t head = 0;         ///< where the text in front of the next brace begins

    std::size_t line_at(std::size_t at) const {
        return 1 +
               static_cast<std::size_t>(std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    }

    void opened(std::size_t at) {
        Brace kind = Brace::data;
        if (in_function == 0) {
            kind = kind_of(squeezed(std::string_view(code).substr(head, at - head)));
            if (kind == Brace::function) {
                in_function = open.size() + 1;
                found.push_back({line_at(code.find_first_not_of(" \t\n", head)), 0});
            }
        }
        open.push_back(kind);
        if (kind != Brace::member) head = at + 1;
    }

    void closed(std::size_t at) {
        if (open.empty()) return;  // not C++ as we know it
        if (in_function == open.size()) {
            found.back().last_line = line_at(at);
            in_function = 0;
        }
        if (open.back() != Brace::member) head = at + 1;
        open.pop_back();
    }
};

}  // namespace

std::vector<Function> functions_in(std::string_view text) {
    Counter counter{code_only(text), {}, {}};
    int parentheses = 0;
    for (std::size_t at = 0; at < counter.code.size(); ++at) {
        const char c = counter.code[at];
        if (c == '(') ++parentheses;
        if (c == ')') --parentheses;
        if (c == '{') counter.opened(at);
        if (c == '}') counter.closed(at);
        if (c == ';' && parentheses == 0) counter.head = at + 1;
    }
    return counter.found;
}

}  // namespace tree
