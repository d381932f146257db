// Text from files and command lines, made safe to print on a terminal.
#include "base/printable.hpp"

#include <fmt/format.h>

#include <iterator>

namespace vramfit {

namespace {

// C0 and DEL; in UTF-8 the controls of C1 are C2 80 to C2 9F.
bool is_control(std::string_view text, std::size_t at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 || c == 0x7F) return true;
    return c >= 0x80 && c < 0xA0 && at > 0 && static_cast<unsigned char>(text[at - 1]) == 0xC2;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
    const bool cut = text.size() > most;
    if (cut) {
        while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;  // whole characters
        text = text.substr(0, most);
    }
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_control(text, i)) {
            out += text[i];
            continue;
        }
        if (static_cast<unsigned char>(text[i]) >= 0x80) out.pop_back();  // the C2 of a C1 control
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[i]));
    }
    return cut ? out + "..." : out;
}

}  // namespace vramfit
