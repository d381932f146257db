// Sums of sizes from text to postfix order.
#include "spec/network/formula.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace vramfit::network {

namespace {

constexpr std::size_t kLongestFormula = 400;
constexpr int kDeepestFormula = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Python's grammar of +, -, *, // and % with brackets.
class FormulaParser {
  public:
    explicit FormulaParser(std::string_view text) : rest_(text) {}

    std::optional<Formula> whole() {
        if (!sum(0) || !rest_.empty()) return std::nullopt;
        return std::move(formula_);
    }

  private:
    using Kind = FormulaStep::Kind;

    bool takes(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    bool push(Kind kind, std::int64_t number = 0) {
        formula_.steps.push_back({kind, number});
        return true;
    }
    bool sum(int depth) {
        if (depth > kDeepestFormula || !product(depth)) return false;
        while (!rest_.empty()) {
            const bool adds = takes("+");
            if (!adds && !takes("-")) return true;
            if (!product(depth)) return false;
            push(adds ? Kind::add : Kind::subtract);
        }
        return true;
    }
    bool product(int depth) {
        if (!factor(depth)) return false;
        while (!rest_.empty()) {
            const Kind kind = takes("//") ? Kind::divide : takes("*") ? Kind::multiply : Kind::remainder;
            if (kind == Kind::remainder && !takes("%")) return true;
            if (!factor(depth)) return false;
            push(kind);
        }
        return true;
    }
    bool factor(int depth) {
        if (depth > kDeepestFormula || rest_.empty()) return false;
        if (takes("-")) return factor(depth + 1) && push(Kind::negate);
        if (takes("(")) return sum(depth + 1) && takes(")");
        return is_digit(rest_.front()) ? number() : name();
    }
    bool number() {
        std::int64_t read = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), read);
        if (error != std::errc() || read >= std::int64_t{1} << 61) return false;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return push(Kind::number, read);
    }
    bool name() {
        std::size_t n = 0;
        while (n < rest_.size() && (is_letter(rest_[n]) || (n > 0 && is_digit(rest_[n])))) ++n;
        const std::string_view word = rest_.substr(0, n);
        if (word.empty()) return false;
        rest_.remove_prefix(n);
        if (word == "B") return push(Kind::batch);
        if (word == "S") return push(Kind::length);
        formula_.keys.emplace_back(word);
        return push(Kind::key, static_cast<std::int64_t>(formula_.keys.size()) - 1);
    }

    std::string_view rest_;
    Formula formula_;
};

}  // namespace

std::optional<Formula> parse_formula(std::string_view text) {
    return text.size() > kLongestFormula ? std::nullopt : FormulaParser(text).whole();
}

std::optional<Comparison> parse_comparison(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, Relation>, 6> kRelations = {{{" < ", Relation::less},
                                                                                  {" <= ", Relation::at_most},
                                                                                  {" > ", Relation::greater},
                                                                                  {" >= ", Relation::at_least},
                                                                                  {" == ", Relation::equal},
                                                                                  {" != ", Relation::differs}}};
    for (const auto& [word, relation] : kRelations) {
        const std::size_t at = text.find(word);
        if (at == std::string_view::npos) continue;
        auto left = parse_formula(text.substr(0, at));
        auto right = parse_formula(text.substr(at + word.size()));
        if (!left || !right) return std::nullopt;
        return Comparison{std::move(*left), relation, std::move(*right), std::string(text)};
    }
    return std::nullopt;
}

}  // namespace vramfit::network
