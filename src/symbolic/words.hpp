// Polynomials and conditions as text for people.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "symbolic/symbols.hpp"

namespace vramfit::symbolic {

/// Writes sizes of one recording with names for its axes.
class Words {
  public:
    /// `axes` in the order in which they were made.
    Words(const Symbols& symbols, std::vector<std::string> axes);

    /// "3136996250 + 2056 S + 3227676 B S".
    std::string text_of(const Polynomial& polynomial);
    /// "B S > 1024".
    std::string text_of(const Condition& condition);
    /// The functions of libraries that occurred: "f1 = ... (here 4096)".
    const std::vector<std::string>& functions() const { return functions_; }

  private:
    std::string text_of_symbol(std::uint32_t symbol);
    std::string product(const std::vector<std::uint32_t>& symbols);

    const Symbols& symbols_;
    std::vector<std::string> names_;  ///< by symbol; empty: not written yet
    std::vector<std::string> functions_;
    std::map<std::string, int> uses_;  ///< by name of function
};

}  // namespace vramfit::symbolic
