// Where results go: standard output or a file, written whole, with every failure noticed.
#pragma once

#include <string>
#include <string_view>

namespace vramfit::cli {

/// Writes all of `text` to `path`; "-" means standard output. Throws Error (invalid) if it cannot, for example
/// on a full disk; a file keeps its old content then. A reader that has closed the pipe is no failure: the rest is
/// dropped and the exit status stays.
void write_result(std::string_view text, const std::string& path = "-");

}  // namespace vramfit::cli
