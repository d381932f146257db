// Comparison of a text with a picture: a file in tests/golden that holds what it should be.
#include "picture.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/catch.hpp"

namespace vramfit::test {

void check_picture(const std::string& name, const std::string& text) {
    const std::string path = std::string(VRAMFIT_SOURCE_DIR "/tests/golden/").append(name);
    const char* accept = std::getenv("VRAMFIT_ACCEPT");
    if (accept && std::string_view(accept) == "1") {
        std::ofstream(path, std::ios::binary) << text;
        return;
    }
    std::ostringstream picture;
    picture << std::ifstream(path, std::ios::binary).rdbuf();
    INFO(name << " differs; if the new text is right: cmake --build BUILD --target accept");
    CHECK(picture.str() == text);
}

}  // namespace vramfit::test
