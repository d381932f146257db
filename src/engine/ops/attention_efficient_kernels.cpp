// torch 2.11 ATen/native/transformers/cuda/mem_eff_attention/{kernel_backward.h,kernels/cutlassB.h},
// attention_backward.cu (_efficient_attention_backward).
#include "engine/ops/attention_efficient_kernels.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>

#include "vramfit/base/checked.hpp"

namespace vramfit::engine {

namespace {

enum class Dropout : std::uint8_t { never, any };
/// Shared memory of one block: `large` does not fit into the 99 KiB of capabilities 8.6, 8.9 and 12.x.
enum class Shared : std::uint8_t { small, large };
/// A kernel that is only offered to capabilities 8.6 and 8.9.
enum class Offered : std::uint8_t { all, ada };

/// A row of kernels/cutlassB.h; those for sequences that are multiples of the tile have the same tiles as the others.
struct Row {
    int block_i;
    int block_j;
    std::int64_t max_head;
    Shared shared = Shared::small;
    Dropout dropout = Dropout::any;
    Offered offered = Offered::all;
};

constexpr std::int64_t kAnyHead = 65536;

// dispatch_cutlassB_{f16,bf16}_sm80.
constexpr Row kHalf80[] = {
    {64, 64, 32},
    {64, 64, 64},
    {128, 64, 96, Shared::small, Dropout::never, Offered::ada},
    {128, 128, 128, Shared::large},
    {64, 64, 128},
    {128, 64, kAnyHead},
    {64, 64, kAnyHead},
};
// dispatch_cutlassB_f16_sm70 and _sm75.
constexpr Row kHalf70[] = {{64, 64, 32}, {64, 64, 64}, {128, 64, 128}, {128, 64, kAnyHead}};
// dispatch_cutlassB_f32_sm80.
constexpr Row kFloat80[] = {
    {64, 64, 32},       {64, 64, 64}, {128, 64, 128, Shared::large}, {64, 64, 128}, {128, 64, kAnyHead, Shared::large},
    {64, 64, kAnyHead},
};
// dispatch_cutlassB_f32_sm70, _sm75 and all of sm50.
constexpr Row kOther[] = {{64, 64, 32}, {64, 64, 64}, {64, 64, 128}, {64, 64, kAnyHead}};

std::span<const Row> rows(Capability capability, bool half) {
    if (capability.major >= 8) return half ? std::span<const Row>(kHalf80) : std::span<const Row>(kFloat80);
    if (capability.major == 7 && half) return kHalf70;
    return kOther;
}

bool has_large_shared_memory(Capability c) {
    return c == Capability{8, 0} || c == Capability{8, 7} || (c.major >= 9 && c.major < 12);
}

bool fits(const Row& row, Capability capability, std::int64_t head, bool dropout) {
    if (row.max_head < head) return false;
    if (dropout && row.dropout == Dropout::never) return false;
    if (row.offered == Offered::ada && !(capability == Capability{8, 6} || capability == Capability{8, 9}))
        return false;
    return row.shared == Shared::small || has_large_shared_memory(capability);
}

}  // namespace

EfficientBackwardKernel efficient_backward_kernel(Capability capability, DType dtype, std::int64_t head, bool dropout) {
    const bool half = dtype != DType::float32;
    for (const Row& row : rows(capability, half)) {
        if (!fits(row, capability, head, dropout)) continue;
        const bool in_registers = half && row.max_head <= row.block_i;  // kOutputInRF
        const bool volta = capability.major == 7 && capability.minor < 5;
        EfficientBackwardKernel kernel;
        kernel.block_i = row.block_i;
        kernel.block_j = row.block_j;
        kernel.max_head = row.max_head;
        kernel.computes_delta = half && (in_registers || !volta);
        kernel.splits_keys = capability.major >= 7;
        kernel.accumulates_q = kernel.splits_keys || half;
        kernel.accumulates_kv = half && !in_registers;
        return kernel;
    }
    throw std::logic_error("no kernel for this head size");
}

Size efficient_backward_workspace(const EfficientBackwardKernel& kernel, const EfficientShape& s) {
    Size splits = ceil_div(s.keys, kernel.block_j);
    // getBlocksGrid before the number of splits is set: one block for each head of each row.
    if (s.batch * s.heads >= 256 && s.keys <= 2 * kernel.block_j) splits = 1;
    if (kernel.accumulates_kv) splits = std::min(splits, 200 / (s.batch * s.heads));
    if (!kernel.splits_keys || splits < 1) splits = 1;
    Size floats = 0;
    if (kernel.accumulates_kv) {
        const Size keys = kernel.keeps_all_keys ? round_up(s.keys, kernel.block_j) : Size(kernel.block_j);
        floats += splits * keys * (round_up(s.head, kernel.block_i) + round_up(s.value_head, kernel.block_i));
    }
    if (kernel.accumulates_q) {
        // GradQTempStorage: a tile of floats behind a lock, a counter and padding of 16 bytes in all.
        const std::int64_t tile = kernel.block_i * kernel.block_j + 4;
        floats += ceil_div(s.queries, kernel.block_i) * ceil_div(s.head, kernel.block_j) * tile;
    }
    return s.batch * s.heads * round_up(floats, 4) * 4;
}

}  // namespace vramfit::engine
