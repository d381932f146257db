// unsloth_zoo 2026.10.9, fused_losses/fused_linear.py fused_linear_rows, _tiled_layout, _flash_min_rows,
// _flash_ce_ok, _tiled_vocab; tiled_mlp.py _default_target_gb (docs/unsloth.md).
#include "model/unsloth/kernel_loss_rows.hpp"

#include <algorithm>
#include <bit>

#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

namespace {

constexpr std::int64_t kBytesOfFloat = 4;  // float32, from products of half numbers
constexpr std::int64_t kMostLossRows = 4096;
constexpr std::int64_t kFewestRows = 512;
constexpr std::int64_t kFewestLogits = 512 * 151936;
constexpr std::int64_t kMostOfLoss = std::int64_t{2} << 30;
constexpr std::int64_t kMostOfTile = std::int64_t{256} << 20;
constexpr std::int64_t kSmallCard = std::int64_t{49} << 29;  // 24.5 GiB

/// The largest power of two that is not above it, 0 for less than 1.
std::int64_t power_below(std::int64_t number) {
    return number < 1 ? 0 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(number)));
}

bool is_small_card(const Device& device) { return device.capacity_known && device.total.count <= kSmallCard; }

bool is_in_tiles_of(const HeadSizes& head, const Device& device, std::int64_t scored) {
    return !head.is_trained && device.capability.major >= 8 && scored >= (is_small_card(device) ? 0 : kFewestInTiles) &&
           ceil_div(head.vocabulary, kColumnsOfSplit) > 2;
}

KernelLossLayout tiled_layout(const HeadSizes& head, const Device& device, std::int64_t loss_bytes) {
    const std::int64_t budget = std::min(kMostOfTile, loss_bytes);
    const std::int64_t rows = std::clamp<std::int64_t>(budget / (kColumnsOfSplit * kBytesOfFloat), 1, kMostLossRows);
    std::int64_t columns = std::max(budget / (rows * kBytesOfFloat), kColumnsOfSplit);
    if (is_small_card(device)) columns = kColumnsOfSplit;
    const std::int64_t all = ceil_div(head.vocabulary, kColumnsOfSplit) * kColumnsOfSplit;
    return {rows, std::min(columns - columns % kColumnsOfSplit, all), true};
}

/// Of scored tokens, hidden size, vocabulary, whether the head is trained, and what the loss may take.
KernelLossLayout kernel_layout(const void* device, std::span<const std::int64_t> a) {
    return kernel_loss_layout(HeadSizes{a[1], a[2], a[3] != 0}, *static_cast<const Device*>(device), a[0], a[4]);
}
std::int64_t rows_at_once(const void* device, std::span<const std::int64_t> a) { return kernel_layout(device, a).rows; }
std::int64_t is_in_tiles(const void* device, std::span<const std::int64_t> a) { return kernel_layout(device, a).tiled; }
std::int64_t columns_at_once(const void* device, std::span<const std::int64_t> a) {
    return kernel_layout(device, a).columns;
}

}  // namespace

HeadSizes head_of(const ModelSpec& spec, const TrainPlan& plan) {
    return {spec.hidden_size, spec.vocab_size, trained_ends(spec, plan).head};
}

KernelLossLayout kernel_loss_layout(const Run& run, Size scored) {
    engine::Session& session = run.session;
    const HeadSizes head = head_of(run.spec, run.plan);
    const auto answer = [&](SizeFunction function) {
        return apply(function, &session.device,
                     {scored, Size(head.hidden), Size(head.vocabulary), Size(head.is_trained ? 1 : 0),
                      Size(run.plan.unsloth.on_card.loss_bytes)});
    };
    KernelLossLayout out;
    out.tiled = session.decide("the loss takes a piece of the vocabulary", answer({is_in_tiles, "loss_is_tiled"}));
    out.rows = session.decide("tokens of the loss at once", answer({rows_at_once, "loss_rows"}));
    out.columns = session.decide("columns of the loss at once", answer({columns_at_once, "loss_columns"}));
    return out;
}

KernelLossLayout kernel_loss_layout(const HeadSizes& head, const Device& device, std::int64_t scored,
                                    std::int64_t loss_bytes) {
    loss_bytes = std::min(loss_bytes, kMostOfLoss);
    if (is_in_tiles_of(head, device, scored)) return tiled_layout(head, device, loss_bytes);
    const std::int64_t vocabulary = head.vocabulary;
    const std::int64_t fewest = std::clamp(power_below(kFewestLogits / vocabulary), kFewestRows, kMostLossRows);
    const std::int64_t rows = std::clamp(power_below(scored * head.hidden / vocabulary), fewest, kMostLossRows);
    const std::int64_t room = std::max<std::int64_t>(loss_bytes / (vocabulary * kBytesOfFloat), 2);
    return {std::min(rows, room), ceil_div(vocabulary, std::int64_t{8}) * 8, false};
}

std::int64_t kernel_loss_bytes(const HeadSizes& head, const Device& device, std::int64_t scored,
                               std::int64_t loss_bytes) {
    constexpr std::int64_t kBytesOfRow = 4 + 2;  // a gradient in float32, and its cast or the hidden states
    const KernelLossLayout layout = kernel_loss_layout(head, device, scored, loss_bytes);
    return std::min(layout.rows, scored) * (layout.columns * kBytesOfFloat + head.hidden * kBytesOfRow);
}

}  // namespace vramfit::model
