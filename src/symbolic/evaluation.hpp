// Polynomials of a finished recording, laid out to be evaluated for many rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbolic/symbols.hpp"

namespace vramfit::symbolic {

/// The values of the symbols for one row: axes at once, functions when they are asked for.
class Evaluation {
  public:
    /// Takes over what the given polynomials (and what their functions ask for) need.
    Evaluation(const Symbols& symbols, std::span<const Polynomial* const> polynomials);

    std::size_t size() const { return sums_.size(); }

    struct Row {
        std::vector<std::int64_t> values;
        std::vector<std::uint8_t> known;  ///< whether a value is
    };
    /// Begins a row: one value for each axis, in the order in which they were made.
    void begin(Row& row, std::span<const std::int64_t> axes) const;
    /// The value of polynomial `index`. Throws Error (invalid) on overflow.
    std::int64_t value(Row& row, std::size_t index) const;

  private:
    struct Product {
        std::int64_t coefficient;
        std::uint32_t first;  ///< of its factors
        std::uint32_t last;
    };
    struct Sum {
        std::uint32_t first;  ///< of its products
        std::uint32_t last;
    };
    struct Function {
        SizeFunction function;
        const void* context = nullptr;
        std::vector<Sum> arguments;
    };

    Sum lay_out(const Symbols& symbols, const Polynomial& polynomial);
    std::uint32_t place_of(const Symbols& symbols, std::uint32_t symbol);
    std::int64_t evaluate(Row& row, Sum sum) const;
    std::int64_t symbol_value(Row& row, std::uint32_t place) const;

    std::size_t axes_ = 0;
    std::vector<std::uint32_t> places_;  ///< of the symbols; kUnused
    std::vector<Function> functions_;    ///< by place, axes first
    std::vector<std::uint32_t> factors_;
    std::vector<Product> products_;
    std::vector<Sum> sums_;
};

}  // namespace vramfit::symbolic
