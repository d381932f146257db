// std::from_chars, or strtod(3) where the standard library has it for integers only (libc++ before 20).
#include "base/number_text.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>

namespace vramfit {

#ifdef __cpp_lib_to_chars

std::optional<double> real_from(std::string_view text) {
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

#else

// strtod also takes blanks, a plus and hexadecimal digits.
std::optional<double> real_from(std::string_view text) {
    if (text.empty() || text.find_first_of("xX+ \t\n\v\f\r") == 0) return std::nullopt;
    if (text.find_first_of("xX") != text.npos) return std::nullopt;
    const std::string copy(text);
    char* end = nullptr;
    errno = 0;
    const double number = std::strtod(copy.c_str(), &end);
    const bool out_of_range = errno == ERANGE && (number == 0 || std::isinf(number));  // and not what is tiny
    if (out_of_range || end != copy.c_str() + copy.size()) return std::nullopt;
    return number;
}

#endif

}  // namespace vramfit
