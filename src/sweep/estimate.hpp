// A guess of a row's bytes, only to choose which row to look at next: no answer depends on it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vramfit/sweep/space.hpp"

namespace vramfit {

/// Fits c0 + c1*tokens + c2*rank + c3*tokens*rank through the recorded rows of one set of targets.
class Estimate {
  public:
    void learn(std::int64_t tokens, std::int64_t rank, std::int64_t bytes);
    double guess(std::int64_t tokens, std::int64_t rank) const;

  private:
    void solve();
    std::array<std::array<double, 5>, 4> normal_{};  ///< normal equations, right side last
    std::array<double, 4> coefficients_{};
};

}  // namespace vramfit
