// Amounts of memory as people write them.
#include "vramfit/spec/sizes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/named.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

constexpr Named<std::int64_t> kUnits[] = {{"b", 1},          {"kib", kKiB},         {"mib", kMiB},
                                          {"gib", kGiB},     {"tib", kGiB * 1024},  {"kb", 1'000},
                                          {"mb", 1'000'000}, {"gb", 1'000'000'000}, {"tb", 1'000'000'000'000}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void refuse(std::string_view text, std::string_view where, std::string_view what, std::string_view hint) {
    throw Error(ErrorKind::invalid, std::string(where), fmt::format("'{}' {}", text, what), std::string(hint));
}

// digits / 10^decimals, exactly.
struct Decimal {
    std::int64_t digits = 0;
    int decimals = 0;
};

// Takes a number off the front; nothing if there is none or it is longer than 15 digits.
std::optional<Decimal> take_decimal(std::string_view& text) {
    Decimal number;
    std::size_t digits = 0;
    bool point = false;
    while (!text.empty() && (is_digit(text.front()) || (text.front() == '.' && !point))) {
        if (text.front() == '.') {
            point = true;
        } else {
            if (++digits > 15) return std::nullopt;
            number.digits = number.digits * 10 + (text.front() - '0');
            number.decimals += point ? 1 : 0;
        }
        text.remove_prefix(1);
    }
    return digits == 0 ? std::nullopt : std::optional(number);
}

}  // namespace

bool looks_like_size(std::string_view text) {
    if (!text.empty() && (text.front() == '-' || text.front() == '+' || text.front() == '.')) text.remove_prefix(1);
    if (text.empty() || !is_digit(text.front())) return false;
    const std::size_t unit = text.find_first_not_of("0123456789.");
    if (unit == std::string_view::npos) return true;
    text.remove_prefix(unit);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    const std::string lower = lower_case(text);
    return value_in<std::int64_t>(kUnits, lower).has_value() || lower == "g" || lower == "m" || lower == "gi" ||
           lower == "mi" || lower == "k" || lower == "t";
}

Bytes size_from(std::string_view text, std::string_view where) {
    constexpr std::string_view hint = "write 8GiB (2^30), 24GB (10^9) or 24576MiB";
    std::string_view rest = text;
    const auto number = take_decimal(rest);
    if (!number) refuse(text, where, "is no amount of memory", hint);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    if (rest.empty() && number->decimals == 0 && number->digits >= 1000)  // no GPU has that many GiB
        refuse(text, where, "has no unit", fmt::format("write {0}MiB (2^20 bytes each), as nvidia-smi does", text));
    if (rest.empty())
        refuse(text, where, "has no unit",
               fmt::format("write {0}GiB (2^30 bytes each) or {0}GB (10^9 bytes each)", text));
    const auto unit = value_in<std::int64_t>(kUnits, lower_case(rest));
    if (!unit) refuse(text, where, fmt::format("has the unknown unit '{}'", rest), hint);

    std::int64_t scale = 1;
    for (int i = 0; i < number->decimals; ++i) scale *= 10;
    const std::int64_t common = std::gcd(scale, *unit);
    const std::int64_t parts = scale / common, factor = *unit / common;  // digits * factor / parts, rounded down
    const std::int64_t whole = number->digits / parts, rest_of_digits = number->digits % parts;
    const std::int64_t more = rest_of_digits > 0 ? 1 : 0;
    if (whole > std::numeric_limits<std::int64_t>::max() / factor - more)
        refuse(text, where, "is beyond 63 bits", hint);
    if (parts > std::numeric_limits<std::int64_t>::max() / factor)
        refuse(text, where, "has too many decimals", "two or three will do: 11.76GiB");
    const Bytes bytes{whole * factor + rest_of_digits * factor / parts};
    if (bytes.count == 0 && number->digits > 0) refuse(text, where, "is less than a byte", hint);
    return bytes;
}

std::string text_of(Bytes bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes.count) / static_cast<double>(kGiB));
}

}  // namespace vramfit
