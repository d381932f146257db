// Where the path of a recording holds: what every row has to meet that takes it.
#pragma once

#include <span>
#include <vector>

#include "symbolic/symbols.hpp"

namespace vramfit {

/// Conditions without repetition, cheap ones first.
std::vector<symbolic::Condition> conditions_in_order(const symbolic::Symbols& symbols);

/// Whether a condition's expression of this value is what it was in the recording.
bool is_met(const symbolic::Condition& condition, std::int64_t value);

/// The polynomials of the conditions, in their order.
std::vector<const symbolic::Polynomial*> polynomials_of(const symbolic::Symbols& symbols,
                                                        std::span<const symbolic::Condition> conditions);

}  // namespace vramfit
