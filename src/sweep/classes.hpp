// Which rows of a space may be compared: those whose runs take the same size-dependent decisions.
#pragma once

#include <cstdint>
#include <vector>

#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// For each row of the space the number of its class, or kNoClass for rows that are not valid (`valid[row]` false).
/// Two rows are in one class only if their targets are equal and a network of few layers, which takes every decision
/// that the whole one takes (layers of one kind decide alike), gives them the same signature.
inline constexpr std::size_t kNoClass = static_cast<std::size_t>(-1);
std::vector<std::size_t> class_of_rows(const SweepQuestion& question, const std::vector<bool>& valid);

}  // namespace vramfit
