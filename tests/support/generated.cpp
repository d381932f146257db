// Documents with a generated part, read and compared, or written anew.
#include "support/generated.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/catch.hpp"

namespace vramfit::test {

void check_generated(const std::string& path, const std::string& text) {
    const std::string begin = "<!-- generated -->\n", end = "<!-- end -->\n";
    const std::string file = std::string(VRAMFIT_SOURCE_DIR "/").append(path);
    std::ostringstream content;
    content << std::ifstream(file, std::ios::binary).rdbuf();
    std::string document = content.str();
    const std::size_t first = document.find(begin);
    const std::size_t last = document.find(end);
    REQUIRE(first != std::string::npos);
    REQUIRE(last != std::string::npos);
    const std::size_t from = first + begin.size();
    const char* accept = std::getenv("VRAMFIT_ACCEPT");
    if (accept && std::string_view(accept) == "1") {
        document.replace(from, last - from, text);
        std::ofstream(file, std::ios::binary) << document;
        return;
    }
    INFO(path << " differs; if the new text is right: cmake --build BUILD --target accept");
    CHECK(document.substr(from, last - from) == text);
}

}  // namespace vramfit::test
