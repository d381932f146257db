// ATen/native/cuda/TensorShape.cu (torch 2.11): split_with_sizes_copy_out_cuda_contiguous_no_cast,
// get_chunk_cat_metadata.
#include "engine/ops/jagged_copy.hpp"

#include <algorithm>
#include <cmath>

#include "engine/ops/reduce_scratch.hpp"
#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::engine {

namespace {

constexpr std::int64_t kThreads = 128;         // BLOCK_SIZE
constexpr std::int64_t kTile = kThreads * 16;  // BYTES_PER_THREAD

std::int64_t tiles(std::span<const Size> bytes, std::int64_t tile) {
    std::int64_t sum = 0;
    for (const Size each : bytes) sum += vramfit::ceil_div(static_cast<std::int64_t>(each), tile);
    return sum;
}

/// pack_vecs: numbers of 64 bits.
void packed(Session& session, std::int64_t numbers, Op op) {
    const Tensor table = empty(session, {numbers}, DType::int64, op);
}

}  // namespace

void split_copy_table(Session& session, std::span<const Size> bytes, std::int64_t chunks) {
    const Device& device = session.device;
    const std::int64_t most =
        std::int64_t{device.multiprocessors} * max_threads_per_multiprocessor(device.capability) / kThreads * 2;
    const std::int64_t factor = vramfit::ceil_div(tiles(bytes, kTile) * chunks, most);
    const auto root = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(factor))));
    const std::int64_t per_chunk = vramfit::ceil_div(factor, std::min(root, chunks));
    const auto splits = static_cast<std::int64_t>(bytes.size());
    packed(session, 4 * splits + 1 + tiles(bytes, kTile * per_chunk), Op::split_with_sizes_copy);
}

void chunk_cat_table(Session& session, std::span<const Size> bytes) {
    const auto tensors = static_cast<std::int64_t>(bytes.size());
    packed(session, 6 * tensors + 2 + tiles(bytes, kTile), Op::chunk_cat);
}

}  // namespace vramfit::engine
