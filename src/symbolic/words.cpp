// Terms by falling power, as people write them.
#include "symbolic/words.hpp"

#include <fmt/format.h>

#include "symbolic/functions.hpp"

namespace vramfit::symbolic {

Words::Words(const Symbols& symbols, std::vector<std::string> axes)
    : symbols_(symbols), names_(symbols.symbols().size()) {
    std::size_t next = 0;
    for (std::size_t s = 0; s < names_.size() && next < axes.size(); ++s)
        if (!symbols.symbols()[s].function) names_[s] = std::move(axes[next++]);
}

std::string Words::text_of_symbol(std::uint32_t symbol) {
    if (!names_[symbol].empty()) return names_[symbol];
    const Symbol& s = symbols_.symbols()[symbol];
    std::vector<std::string> arguments;
    for (const Size argument : s.arguments) arguments.push_back(text_of(symbols_.polynomial_of(argument)));
    std::string name;
    if (s.function == quotient) {
        name = fmt::format("floor(({}) / {})", arguments[0], arguments[1]);
    } else if (s.function == is_less) {
        name = fmt::format("[{} < {}]", arguments[0], arguments[1]);
    } else if (s.function == largest) {
        name = fmt::format("max({}, {})", arguments[0], arguments[1]);
    } else {
        name = fmt::format("{}_{}", s.function.name, ++uses_[s.function.name]);
        functions_.push_back(fmt::format("{}({}) = {} here", name, fmt::join(arguments, ", "), s.value));
    }
    return names_[symbol] = name;
}

/// "B² S".
std::string Words::product(const std::vector<std::uint32_t>& symbols) {
    static constexpr const char* kPowers[] = {"", "", "²", "³", "⁴"};
    std::string out;
    for (std::size_t i = 0; i < symbols.size();) {
        const std::uint32_t symbol = symbols[i];
        std::size_t power = 0;
        for (; i < symbols.size() && symbols[i] == symbol && power < 4; ++i) ++power;
        out += fmt::format("{}{}{}", out.empty() ? "" : " ", text_of_symbol(symbol), kPowers[power]);
    }
    return out;
}

std::string Words::text_of(const Polynomial& polynomial) {
    std::string out;
    for (const Term& term : polynomial) {
        const std::vector<std::uint32_t>& symbols = symbols_.monomials()[term.monomial];
        const std::int64_t amount = term.coefficient < 0 ? -term.coefficient : term.coefficient;
        out += out.empty() ? (term.coefficient < 0 ? "-" : "") : (term.coefficient < 0 ? " - " : " + ");
        if (amount != 1 || symbols.empty()) out += fmt::format("{}{}", amount, symbols.empty() ? "" : " ");
        out += product(symbols);
    }
    return out.empty() ? "0" : out;
}

// What is subtracted stands on the other side.
std::string Words::text_of(const Condition& condition) {
    Polynomial left, right;
    for (const Term& term : symbols_.expressions()[condition.expression].polynomial) {
        if (term.coefficient > 0)
            left.push_back(term);
        else
            right.push_back({term.monomial, -term.coefficient});
    }
    const bool negative = condition.kind == Condition::Kind::negative;
    const char* sign = negative ? (condition.holds ? "<" : ">=") : (condition.holds ? "=" : "!=");
    return fmt::format("{} {} {}", text_of(left), sign, text_of(right));
}

}  // namespace vramfit::symbolic
