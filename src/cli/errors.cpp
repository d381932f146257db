// Prints errors; the only place that turns them into an exit status.
#include "cli/errors.hpp"

#include <cstdio>
#include <new>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

namespace {

constexpr std::size_t kLongestPart = 1000;  // of one part: a hostile file must not fill the screen

/// Standard error may be closed; nothing can be done about it then.
void put(const std::string& line) { std::fputs(line.c_str(), stderr); }

ExitStatus report_internal(const std::exception& error) {
    if (dynamic_cast<const std::bad_alloc*>(&error))
        put("error: the machine's memory is exhausted\nhint: ask about fewer steps or configurations at once\n");
    else
        put(fmt::format("error: internal: {}\nhint: this is a defect of vramfit; please report it\n", error.what()));
    return kInvalid;
}

void put_problems(const char* word, const Error& error) {
    for (const Problem& problem : error.problems()) {
        const std::string where = problem.where.empty() ? "" : printable(problem.where, kLongestPart) + ": ";
        put(fmt::format("{}: {}{}\n", word, where, printable(problem.what, kLongestPart)));
        if (!problem.hint.empty()) put(fmt::format("hint: {}\n", printable(problem.hint, kLongestPart)));
    }
}

}  // namespace

void warn(const Error& error) { put_problems("warning", error); }

ExitStatus report(const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known == nullptr) return report_internal(error);
    put_problems("error", *known);
    return known->kind() == ErrorKind::unsupported ? kUnsupported : kInvalid;
}

}  // namespace vramfit::cli
