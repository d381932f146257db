// The text of an Error: every problem as an "error:" line, followed by its "hint:" line where it has one.
#include "vramfit/base/error.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace vramfit {

namespace {

std::string text_of(const std::vector<Problem>& problems) {
    std::string text;
    const auto line = std::back_inserter(text);
    for (const Problem& problem : problems) {
        if (!text.empty()) fmt::format_to(line, "\n");
        if (problem.where.empty())
            fmt::format_to(line, "error: {}", problem.what);
        else
            fmt::format_to(line, "error: {}: {}", problem.where, problem.what);
        if (!problem.hint.empty()) fmt::format_to(line, "\nhint: {}", problem.hint);
    }
    return text;
}

std::vector<Problem> at_least_one(std::vector<Problem> problems) {
    if (problems.empty()) problems.push_back({{}, "unknown problem", {}});
    return problems;
}

std::vector<Problem> single(std::string where, std::string what, std::string hint) {
    std::vector<Problem> problems;
    problems.push_back({std::move(where), std::move(what), std::move(hint)});
    return problems;
}

}  // namespace

Error::Error(ErrorKind kind, std::vector<Problem> problems)
    : std::runtime_error(text_of(at_least_one(problems))), kind_(kind), problems_(at_least_one(std::move(problems))) {}

Error::Error(ErrorKind kind, std::string where, std::string what, std::string hint)
    : Error(kind, single(std::move(where), std::move(what), std::move(hint))) {}

}  // namespace vramfit
