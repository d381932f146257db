// The whole program as one function of its arguments.
#pragma once

namespace vramfit::cli {

/// Parses, runs and reports; gives the exit status. Throws nothing.
int run_program(int argc, const char* const* argv);

}  // namespace vramfit::cli
