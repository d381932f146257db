// What commands read: files, standard input, the process's environment.
#pragma once

#include <cstddef>
#include <string>

#include "vramfit/spec/environment.hpp"

namespace vramfit::cli {

/// The whole content of a file; "-" is standard input. Throws Error (invalid); `where` is the flag that named it.
std::string read_input(const std::string& path, const std::string& where, std::size_t most = std::size_t{256} << 20);

/// How messages call that input: the path, or "standard input".
std::string name_of_input(const std::string& path);

/// The variables that readers look at, from the process.
Environment process_environment();

}  // namespace vramfit::cli
