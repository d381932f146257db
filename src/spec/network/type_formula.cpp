// Formulas of a type with the numbers of one configuration: what is left are batch and length.
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "spec/network/formula.hpp"
#include "spec/network/type.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

/// Coefficients by powers of batch and length, highest first.
using Sum = std::map<std::pair<int, int>, std::int64_t, std::greater<>>;
using Step = FormulaStep;

constexpr std::pair<int, int> kPlain = {0, 0};

[[noreturn]] void refuse_formula(std::string_view text, std::string what) {
    throw Error(ErrorKind::invalid, fmt::format("the formula {}", text), std::move(what),
                "record the type again (tools/record)");
}

Sum of_number(std::int64_t number) { return number == 0 ? Sum() : Sum{{kPlain, number}}; }

std::optional<std::int64_t> plain(const Sum& sum) {
    if (sum.empty()) return 0;
    if (sum.size() == 1 && sum.begin()->first == kPlain) return sum.begin()->second;
    return std::nullopt;
}

void add_to(Sum& sum, std::pair<int, int> powers, std::int64_t number) {
    std::int64_t& there = sum[powers];
    there = checked_add(there, number);
    if (there == 0) sum.erase(powers);
}

Sum added(Sum a, const Sum& b, std::int64_t sign) {
    for (const auto& [powers, number] : b) add_to(a, powers, checked_mul(sign, number));
    return a;
}

Sum multiplied(const Sum& a, const Sum& b) {
    Sum product;
    for (const auto& [x, m] : a)
        for (const auto& [y, n] : b) add_to(product, {x.first + y.first, x.second + y.second}, checked_mul(m, n));
    return product;
}

/// Types are recorded with sizes that divide one another (known.py SIZES): of others the formula may be another one,
/// and most classes refuse them (transformers 5.17.0 modeling_bloom.py BloomAttention.__init__).
[[noreturn]] void refuse_remainder(std::string_view text, std::int64_t number, std::int64_t by) {
    throw Error(ErrorKind::invalid, fmt::format("the sizes of the model: {}", text),
                fmt::format("{} is not a multiple of {}", number, by),
                "the model's config.json needs a size that divides the other, such as a number of heads that divides "
                "hidden_size");
}

/// Python's // and %, of what is not negative; nothing where the result is no sum.
std::optional<Sum> divided(const Sum& a, std::int64_t by, bool remainder) {
    if (const auto number = plain(a)) {
        if (*number < 0) return std::nullopt;
        return of_number(remainder ? *number % by : *number / by);
    }
    Sum quotient;
    for (const auto& [powers, number] : a) {
        if (remainder || number % by != 0) return std::nullopt;
        quotient[powers] = number / by;
    }
    return quotient;
}

std::optional<Sum> combined(const Sum& a, const Sum& b, Step::Kind kind) {
    switch (kind) {
        case Step::Kind::add: return added(a, b, 1);
        case Step::Kind::subtract: return added(a, b, -1);
        case Step::Kind::multiply: return multiplied(a, b);
        default: break;
    }
    const auto by = plain(b);
    if (!by || *by <= 0) return std::nullopt;
    return divided(a, *by, kind == Step::Kind::remainder);
}

std::int64_t number_of(const Numbers& numbers, const std::string& key, std::string_view text) {
    const auto found = numbers.find(key);
    if (found == numbers.end()) refuse_formula(text, fmt::format("'{}' is no number of the configuration", key));
    return found->second;
}

/// A part of a formula. A key, or a key by another size, is a whole number of what it is divided by; a sum may be
/// rounded.
struct Part {
    Sum sum;
    bool is_size = false;
};

std::optional<Part> quotient(const Part& a, const Part& b, std::string_view text) {
    const auto number = plain(a.sum), by = plain(b.sum);
    if (a.is_size && number && by && *by > 0 && *number % *by != 0) refuse_remainder(text, *number, *by);
    auto sum = combined(a.sum, b.sum, Step::Kind::divide);
    if (!sum) return std::nullopt;
    return Part{std::move(*sum), a.is_size};
}

std::optional<Sum> sum_of(const Formula& formula, const Numbers& numbers, std::string_view text) {
    std::vector<Part> stack;
    for (const Step& step : formula.steps) {
        switch (step.kind) {
            case Step::Kind::number: stack.push_back({of_number(step.number)}); continue;
            case Step::Kind::batch: stack.push_back({Sum{{{1, 0}, 1}}}); continue;
            case Step::Kind::length: stack.push_back({Sum{{{0, 1}, 1}}}); continue;
            case Step::Kind::kept:
            case Step::Kind::keys: return std::nullopt;  // of rewritten programs alone
            case Step::Kind::key:
                stack.push_back(
                    {of_number(number_of(numbers, formula.keys[static_cast<std::size_t>(step.number)], text)), true});
                continue;
            case Step::Kind::negate: stack.back() = {added({}, stack.back().sum, -1)}; continue;
            default: break;
        }
        const Part right = std::move(stack.back());
        stack.pop_back();
        if (step.kind == Step::Kind::divide) {
            auto result = quotient(stack.back(), right, text);
            if (!result) return std::nullopt;
            stack.back() = std::move(*result);
            continue;
        }
        auto result = combined(stack.back().sum, right.sum, step.kind);
        if (!result) return std::nullopt;
        stack.back() = {std::move(*result)};
    }
    return std::move(stack.back().sum);
}

std::string power(const std::pair<int, int>& powers) {
    std::string text;
    for (int i = 0; i < powers.first; ++i) text += text.empty() ? "B" : "*B";
    for (int i = 0; i < powers.second; ++i) text += text.empty() ? "S" : "*S";
    return text;
}

/// As the recorder writes it: "2*B*S+1".
std::string text_of(const Sum& sum) {
    std::string text;
    for (const auto& [powers, number] : sum) {
        if (number > 0 && !text.empty()) text += '+';
        if (powers == kPlain)
            text += fmt::format("{}", number);
        else if (number == 1 || number == -1)
            text += fmt::format("{}{}", number < 0 ? "-" : "", power(powers));
        else
            text += fmt::format("{}*{}", number, power(powers));
    }
    return text;
}

/// The text with numbers for the keys: a quotient that stays one.
std::string with_numbers(std::string_view text, const Numbers& numbers) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || text[end] == '_' ||
                                     (end > at && text[end] >= '0' && text[end] <= '9')))
            ++end;
        if (end == at) {
            out += text[at++];
            continue;
        }
        out += fmt::format("{}", number_of(numbers, std::string(text.substr(at, end - at)), text));
        at = end;
    }
    return out;
}

}  // namespace

JsonValue folded(std::string_view text, const Numbers& numbers) {
    const auto formula = parse_formula(text);
    if (!formula) refuse_formula(text, "it is no sum of sizes");
    const auto sum = sum_of(*formula, numbers, text);
    if (!sum) return JsonValue::of(std::string_view(with_numbers(text, numbers)));
    if (const auto number = plain(*sum)) return JsonValue::of(*number);
    return JsonValue::of(std::string_view(text_of(*sum)));
}

}  // namespace vramfit::network
