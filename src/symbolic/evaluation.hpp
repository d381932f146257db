// Polynomials of a finished recording, laid out to be evaluated for many rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbolic/symbols.hpp"

namespace vramfit::symbolic {

/// The values of the polynomials for one row after the other: functions are asked when they are needed, and what
/// depends on no axis that has changed since the row before stays.
class Evaluation {
  public:
    /// Takes over what the given polynomials (and what their functions ask for) need.
    Evaluation(const Symbols& symbols, std::span<const Polynomial* const> polynomials);

    std::size_t size() const { return sums_.size(); }

    struct Row {
        std::vector<std::int64_t> values;  ///< of axes and functions
        std::vector<std::uint8_t> known;   ///< whether a value is
        std::vector<std::int64_t> sums;    ///< of the polynomials
        std::vector<std::uint8_t> summed;  ///< whether one is
    };
    /// Begins a row: one value for each axis, in the order in which they were made. A row belongs to one evaluation.
    void begin(Row& row, std::span<const std::int64_t> axes) const;
    /// The value of polynomial `index`. Throws Error (invalid) on overflow.
    std::int64_t value(Row& row, std::size_t index) const;

  private:
    using Axes = std::uint8_t;  ///< a bit for each
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
        /// An argument that is no plain number.
        struct Argument {
            std::uint32_t place;
            Sum sum;
        };
        std::vector<std::int64_t> numbers;  ///< of the arguments; 0 in place of the others
        std::vector<Argument> arguments;
    };

    Sum lay_out(const Symbols& symbols, const Polynomial& polynomial);
    std::uint32_t place_of(const Symbols& symbols, std::uint32_t symbol);
    Axes axes_of(Sum sum) const;
    std::int64_t evaluate(Row& row, Sum sum) const;
    std::int64_t symbol_value(Row& row, std::uint32_t place) const;

    std::size_t axes_ = 0;
    std::vector<std::uint32_t> places_;  ///< of the symbols; kUnused
    std::vector<Function> functions_;    ///< by place, axes first
    std::vector<Axes> depends_;          ///< by place: which axes a value depends on
    std::vector<std::uint32_t> factors_;
    std::vector<Product> products_;
    std::vector<Sum> sums_;
    std::vector<Axes> sums_depend_;  ///< by polynomial
};

}  // namespace vramfit::symbolic
