// Diagnostics of the program on standard error.
#pragma once

namespace vramfit::cli {

/// Sends the default logger to standard error: warnings only, with -v also what is done, with -vv everything.
void start_log(int verbosity);

}  // namespace vramfit::cli
