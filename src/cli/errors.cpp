// Prints errors; the only place that turns them into an exit status.
#include "cli/errors.hpp"

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit::cli {

ExitStatus report(const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known == nullptr) {
        fmt::print(stderr, "error: internal: {}\nhint: this is a defect of vramfit; please report it\n", error.what());
        return kInvalid;
    }
    for (const Problem& problem : known->problems()) {
        fmt::print(stderr, "error: {}{}{}\n", problem.where, problem.where.empty() ? "" : ": ", problem.what);
        if (!problem.hint.empty()) {
            fmt::print(stderr, "hint: {}\n", problem.hint);
        }
    }
    return known->kind() == ErrorKind::unsupported ? kUnsupported : kInvalid;
}

}  // namespace vramfit::cli
