// The generated part of a document: what stands between its two marks is what the program computes.
#pragma once

#include <string>

namespace vramfit::test {

/// Compares `text` with the lines between `<!-- generated -->` and `<!-- end -->` in the document at `path` (from the
/// project's root). With VRAMFIT_ACCEPT=1 it puts `text` there instead.
void check_generated(const std::string& path, const std::string& text);

}  // namespace vramfit::test
