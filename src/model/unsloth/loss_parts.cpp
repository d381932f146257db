// unsloth_zoo 2026.10.7: parts by the memory that is free, of which it takes half and at most 4 GiB (docs/unsloth.md).
#include "model/unsloth/loss_parts.hpp"

#include <algorithm>
#include <cmath>

#include "engine/session.hpp"
#include "model/unsloth/kernel_loss_rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr double kBytesOfLogit = 16;
constexpr double kTolerance = 1e-9;
constexpr double kMultiple = 4;

/// A trained head's gradient, and that of one part.
std::int64_t bytes_of_head_gradients(const ModelSpec& spec, const TrainPlan& plan) {
    if (!trained_ends(spec, plan).head) return 0;
    const DType dtype = plan.training.fp16 ? DType::float32 : plan.load.dtype;
    return 2 * spec.vocab_size * spec.hidden_size * element_size(dtype);
}

/// Of tokens, vocabulary, bytes of gradients that do not become fewer with more parts, and bytes that the loss may
/// take.
std::int64_t count_parts(const void*, std::span<const std::int64_t> a) {
    const double fixed = static_cast<double>(a[2]);
    const auto target = static_cast<double>(a[3]);
    const double budget = fixed < target ? target - fixed : target;
    const double wanted = static_cast<double>(a[0]) * static_cast<double>(a[1]) * kBytesOfLogit / budget;
    if (wanted <= 1 + kTolerance) return 1;
    const auto parts = static_cast<std::int64_t>(std::ceil(wanted / kMultiple - kTolerance) * kMultiple);
    return std::min(parts, a[0]);
}

}  // namespace

std::int64_t loss_part_count(const ModelSpec& spec, const TrainPlan& plan, std::int64_t tokens,
                             std::int64_t loss_bytes) {
    const std::int64_t fixed = tokens * spec.hidden_size * 2 + bytes_of_head_gradients(spec, plan);
    const std::int64_t arguments[] = {tokens, spec.vocab_size, fixed, loss_bytes};
    return count_parts(nullptr, arguments);
}

std::array<std::int64_t, 3> loss_cut(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack,
                                     const Device& device, std::int64_t tokens, std::int64_t loss_bytes) {
    if (!stack.unsloth_scores_by_kernels()) return {loss_part_count(spec, plan, tokens, loss_bytes), 0, 0};
    const KernelLossLayout out = kernel_loss_layout(head_of(spec, plan), device, tokens, loss_bytes);
    return {std::min(out.rows, tokens), out.columns, out.tiled};
}

std::vector<Size> loss_parts(const Run& run, Size tokens) {
    const Size fixed = tokens * run.spec.hidden_size * 2 + bytes_of_head_gradients(run.spec, run.plan);
    const Size wanted = apply({count_parts, "loss_parts"}, nullptr,
                              {tokens, Size(run.spec.vocab_size), fixed, Size(run.plan.unsloth.on_card.loss_bytes)});
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
