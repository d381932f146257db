// Helpers of the tests of the readers: what an Error says, and the lines of a data file.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit {

/// The Error that `call` throws, or nothing. Every problem has a way out.
template <class Call>
std::optional<Error> error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        for (const Problem& problem : error.problems()) {
            INFO(problem.where << ": " << problem.what);
            CHECK_FALSE(problem.hint.empty());
        }
        return error;
    }
    return std::nullopt;
}

/// Whether some problem stands at `where` and its text and hint together contain `part`.
inline bool says(const std::optional<Error>& error, const std::string& where, const std::string& part) {
    if (!error) return false;
    for (const Problem& problem : error->problems()) {
        if (problem.where == where && (problem.what + "\n" + problem.hint).find(part) != std::string::npos) return true;
    }
    return false;
}

/// The lines of a file of tests/data.
inline std::vector<std::string> lines_of(const std::string& name) {
    std::ifstream stream(std::string(VRAMFIT_TEST_DATA_DIR) + "/" + name);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

}  // namespace vramfit
