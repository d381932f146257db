// How refusals end the program: lines on standard error and an exit status.
#pragma once

#include <exception>

#include "vramfit/base/error.hpp"

namespace vramfit::cli {

/// Exit statuses, a contract with other people's scripts.
enum ExitStatus : int {
    kFits = 0,         ///< it fits, or the question was answered
    kTooLarge = 1,     ///< it does not fit, or may not (tight)
    kInvalid = 2,      ///< the question could not be understood, or its answer not be delivered
    kUnsupported = 3,  ///< a known question about an unsupported thing, or one that an upper bound does not answer
};

/// Prints "error: ..." and "hint: ..." lines on standard error; gives the exit status that belongs to them.
ExitStatus report(const std::exception& error);

/// Prints the same as "warning: ..." lines: it does not fail the command.
void warn(const Error& error);

}  // namespace vramfit::cli
