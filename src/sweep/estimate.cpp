// Least squares on four features.
#include "sweep/estimate.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace vramfit {

namespace {

std::array<double, 4> features(std::int64_t tokens, std::int64_t rank) {
    const double t = static_cast<double>(tokens) / 1024.0;
    const double r = static_cast<double>(rank) / 64.0;
    return {1.0, t, r, t * r};
}

}  // namespace

void Estimate::learn(std::int64_t tokens, std::int64_t rank, std::int64_t bytes) {
    const auto x = features(tokens, rank);
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) normal_[i][j] += x[i] * x[j];
        normal_[i][4] += x[i] * static_cast<double>(bytes);
    }
    solve();
}

void Estimate::solve() {
    auto m = normal_;
    for (std::size_t i = 0; i < 4; ++i) m[i][i] += 1e-9;
    for (std::size_t i = 0; i < 4; ++i) {
        std::size_t pivot = i;
        for (std::size_t k = i + 1; k < 4; ++k)
            if (std::abs(m[k][i]) > std::abs(m[pivot][i])) pivot = k;
        std::swap(m[i], m[pivot]);
        for (std::size_t k = 0; k < 4; ++k) {
            if (k == i) continue;
            const double factor = m[k][i] / m[i][i];
            for (std::size_t j = i; j < 5; ++j) m[k][j] -= factor * m[i][j];
        }
    }
    for (std::size_t i = 0; i < 4; ++i) coefficients_[i] = m[i][4] / m[i][i];
}

double Estimate::guess(std::int64_t tokens, std::int64_t rank) const {
    const auto x = features(tokens, rank);
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += coefficients_[i] * x[i];
    return sum;
}

}  // namespace vramfit
