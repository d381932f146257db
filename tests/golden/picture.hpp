// Comparison of a text with a picture: a file in tests/golden that holds what it should be.
#pragma once

#include <string>

namespace vramfit::test {

/// Fails the test if tests/golden/NAME does not hold exactly `text`. With VRAMFIT_ACCEPT=1 the file is written instead.
void check_picture(const std::string& name, const std::string& text);

}  // namespace vramfit::test
