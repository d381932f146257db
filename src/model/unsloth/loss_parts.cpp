// unsloth_zoo 2026.10.7: parts by the memory that is free, of which it takes half and at most 4 GiB (docs/unsloth.md).
#include "model/unsloth/loss_parts.hpp"

#include <algorithm>
#include <cmath>

#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr double kBudget = 4.0 * (1 << 30);  // where more than 8 GiB are free
constexpr double kBytesOfLogit = 16;
constexpr double kTolerance = 1e-9;
constexpr double kMultiple = 4;

/// Of tokens, vocabulary, bytes of the hidden states' gradient: those do not become fewer with more parts.
std::int64_t count_parts(const void*, std::span<const std::int64_t> a) {
    const double fixed = static_cast<double>(a[2]);
    const double budget = fixed < kBudget ? kBudget - fixed : kBudget;
    const double wanted = static_cast<double>(a[0]) * static_cast<double>(a[1]) * kBytesOfLogit / budget;
    if (wanted <= 1 + kTolerance) return 1;
    const auto parts = static_cast<std::int64_t>(std::ceil(wanted / kMultiple - kTolerance) * kMultiple);
    return std::min(parts, a[0]);
}

}  // namespace

std::vector<Size> loss_parts(const Run& run, Size tokens) {
    const Size bytes = tokens * run.spec.hidden_size * 2;
    const Size wanted = apply({count_parts, "loss_parts"}, nullptr, {tokens, Size(run.spec.vocab_size), bytes});
    const std::int64_t parts = run.session.decide("parts of the loss", wanted);
    if (parts == 1) return {tokens};
    // torch.chunk: the last part may be smaller, and there may be fewer.
    const Size each = ceil_div(tokens, parts);
    std::vector<Size> out;
    Size left = tokens;
    while (run.session.decide("a whole part of the loss", left > each)) {
        out.push_back(each);
        left -= each;
    }
    out.push_back(left);
    return out;
}

}  // namespace vramfit::model
