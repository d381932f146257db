// Strict readers of flags' values.
#include "cli/flags/values.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "base/number_text.hpp"

namespace vramfit::cli {

namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 31;

}  // namespace

std::int64_t integer_from(std::string_view value, const std::string& where, std::int64_t low) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = end == value.data() + value.size();
    if (whole && problem == std::errc::result_out_of_range)
        throw Error(ErrorKind::invalid, where, fmt::format("{} is beyond 64 bits", value),
                    fmt::format("at most {}", kLargest));
    if (problem != std::errc{} || !whole)
        throw Error(ErrorKind::invalid, where, fmt::format("'{}' is not a whole number", value), "write digits only");
    if (number < low || number > kLargest)
        throw Error(ErrorKind::invalid, where, fmt::format("{} is not between {} and {}", number, low, kLargest),
                    number < low ? fmt::format("give {} or more", low) : fmt::format("at most {}", kLargest));
    return number;
}

double number_from(std::string_view value, const std::string& where) {
    const std::optional<double> number = real_from(value);
    if (!number || !std::isfinite(*number) || *number < 0)
        throw Error(ErrorKind::invalid, where, fmt::format("'{}' is not a number of at least 0", value),
                    "write it like 16 or 0.05");
    return *number;
}

bool boolean_from(std::string_view value, const std::string& where) {
    const std::string word = lower_case(value);
    if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
    if (word == "false" || word == "no" || word == "off" || word == "0") return false;
    throw Error(ErrorKind::invalid, where, fmt::format("'{}' is neither true nor false", value), "write true or false");
}

std::vector<std::string> words_from(std::string_view value, const std::string& where) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : value) {
        if (c != ',' && c != ' ') {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::move(word));
            word.clear();
        }
    }
    if (!word.empty()) words.push_back(std::move(word));
    if (words.empty()) throw Error(ErrorKind::invalid, where, "the list is empty", "leave the flag out");
    return words;
}

DType dtype_value_from(std::string_view value, const std::string& where) {
    const auto dtype = dtype_from(value.starts_with("torch.") ? value.substr(6) : value);
    if (dtype == DType::bfloat16 || dtype == DType::float16 || dtype == DType::float32) return *dtype;
    static const std::vector<std::string_view> known = {"bfloat16", "float16", "float32"};
    return *dtype_from(known[choice_from(value, where, known)]);
}

std::size_t choice_from(std::string_view value, const std::string& where, const std::vector<std::string_view>& known) {
    const auto found = std::find(known.begin(), known.end(), value);
    if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
    throw Error(ErrorKind::invalid, where, fmt::format("unknown value '{}'", value),
                did_you_mean(value, known, fmt::format("known: {}", fmt::join(known, ", "))));
}

}  // namespace vramfit::cli
