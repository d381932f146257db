// cub of CUDA 12.1 and 13.0, cub/device/dispatch: temporary storage by algorithm.
#include "engine/ops/cub_scratch.hpp"

#include <algorithm>
#include <initializer_list>

#include "vramfit/base/checked.hpp"

namespace vramfit::engine {

namespace {

/// util_temporary_storage.cuh AliasTemporaries: one block for several arrays, each on a multiple of 256.
Size aliased(std::initializer_list<Size> arrays) {
    constexpr Size kAlign = 256;
    Size bytes = kAlign - 1;
    for (const Size a : arrays) bytes += ceil_div(a, kAlign) * kAlign;
    return bytes;
}

/// single_pass_scan_operators.cuh ScanTileState::AllocationSize: a descriptor for each tile and 32 in front.
Size tile_states(const Session& session, Size items, Size tile, Size descriptor) {
    const Size states = (ceil_div(items, tile) + 32) * descriptor;
    return session.stack.cub_is_3() ? aliased({aliased({states})}) : aliased({states});
}

/// dispatch_radix_sort.cuh InvokeOnesweep with 64-bit offsets: passes of 8 bits over tiles, of which a single one needs
/// no second arrays of keys and values.
Size onesweep_scratch(Size n, Size bits, Size tile, Size key_bytes, Size value_bytes) {
    constexpr Size kDigits = 256, kOffset = 8, kCounter = 4;
    const Size passes = ceil_div(bits, 8);
    const Size second = passes > 1 ? n : Size(0);
    const Size portion = ((1 << 28) - 1) / tile * tile;
    const Size portions = ceil_div(n, portion);
    const Size blocks = ceil_div(std::min(n, portion), tile);
    return aliased({portions * passes * kDigits * kOffset, blocks * kDigits * kCounter, second * key_bytes,
                    second * value_bytes, portions * passes * kCounter});
}

}  // namespace

Size sort_scratch(const Session& session, Size n, Size bits) {
    constexpr Size kSingleTile = 256 * 9;  // SingleTilePolicy, 256 threads x 19 items of 4 bytes
    const Size tiles = indicator_less(kSingleTile, n);
    if (same(tiles, 0)) return 1;
    // tuning_radix_sort.cuh OnesweepPolicy after RegBoundScaling: SM70 256 threads x 11 items, SM80 384 x 10; from cub
    // 3 on SM90 384 x 12.
    Size tile = 256 * 11;
    if (session.device.capability.major >= 8) tile = 384 * 10;
    if (session.device.capability.major >= 9 && session.stack.cub_is_3()) tile = 384 * 12;
    return (onesweep_scratch(n, bits, tile, 8, 8) - 1) * tiles + 1;
}

// OnesweepPolicy as torch 2.11's kernels show it: 256 threads x 11 items, from SM80 on 384 x 8, from SM90 on 384 x 14.
Size float_sort_scratch(const Session& session, Size n) {
    Size tile = 256 * 11;
    if (session.device.capability.major >= 8) tile = 384 * 8;
    if (session.device.capability.major >= 9) tile = 384 * 14;
    return onesweep_scratch(n, 32, tile, 4, 8);
}

// Keys of 16 bits are sorted in one sweep from SM90 on: tuning_radix_sort.cuh sm90_small_key_tuning<2, 8, 8>, 512
// threads x 11 items. Before that dispatch_radix_sort.cuh InvokePasses counts digits of 7 bits for each block, two to a
// multiprocessor (occupancy) times five (subscription_factor), and a tile of the scan, 512 threads x 11 items.
Size half_sort_scratch(const Session& session, Size n) {
    if (session.device.capability.major >= 9) return onesweep_scratch(n, 16, 512 * 11, 2, 8);
    constexpr Size kDigits = 128, kOffset = 8;
    const Size blocks = session.device.multiprocessors * 2 * 5;
    return aliased({(blocks * kDigits + 512 * 11) * kOffset, n * 2, n * 8});
}

// The same of 32-bit keys and values: 512 threads x 23 items, from SM80 on 384 x 17.
Size int32_sort_scratch(const Session& session, Size n) {
    constexpr Size kSingleTile = 256 * 19;
    const Size tiles = indicator_less(kSingleTile, n);
    if (same(tiles, 0)) return 1;
    const Size tile = session.device.capability.major >= 8 ? 384 * 17 : 512 * 23;
    return (onesweep_scratch(n, 32, tile, 4, 4) - 1) * tiles + 1;
}

// The same: 256 threads x 11 items, from SM80 on 384 x 10, from SM90 on 384 x 15.
Size key_sort_scratch(const Session& session, Size n, Size bits) {
    Size tile = 256 * 11;
    if (session.device.capability.major >= 8) tile = 384 * 10;
    if (session.device.capability.major >= 9) tile = 384 * 15;
    return onesweep_scratch(n, bits, tile, 8, 0);
}

// dispatch_radix_sort.cuh DispatchSegmentedRadixSort: second arrays of keys and values.
Size segmented_sort_scratch(Size n) { return aliased({n * 4, n * 8}); }

/// dispatch_unique_by_key.cuh for 64-bit keys and 32-bit values.
Size unique_scratch(const Session& session, Size n) {
    // tuning_unique_by_key.cuh: DefaultPolicy<11, 64> is 64 threads x 5 items; cub 3 has tunings for SM80, 90 and 100.
    if (!session.stack.cub_is_3()) return tile_states(session, n, 64 * 5, 8);
    const Capability& c = session.device.capability;
    Size tile = 64 * 5;
    if (c == Capability{8, 0}) tile = 256 * 7;
    if (c.major == 9) tile = 640 * 7;
    if (c.major >= 10) tile = 384 * 10;
    return tile_states(session, n, tile, 16);
}

// The same of 32-bit keys, cub 3: DefaultPolicy<11> is 64 threads x 11 items.
Size int32_unique_scratch(const Session& session, Size n) {
    const Capability& c = session.device.capability;
    Size tile = 64 * 11;
    if (c == Capability{8, 0}) tile = 256 * 11;
    if (c.major >= 9) tile = 512 * 14;
    return tile_states(session, n, tile, 16);
}

// dispatch_scan_by_key.cuh; tuning_scan_by_key.cuh: 256 threads x 9 items, with tunings for 8.0, 9.0 and 10.0.
Size sum_by_key_scratch(const Session& session, Size n) {
    constexpr Size kDescriptor = 16, kKey = 4;
    const Capability& c = session.device.capability;
    Size tile = 256 * 9;
    if (c == Capability{8, 0}) tile = 256 * 15;
    if (c.major == 9) tile = 288 * 14;
    if (c.major >= 10) tile = 224 * 20;
    const Size tiles = ceil_div(n, tile);
    return aliased({(tiles + 32) * kDescriptor, (tiles + 1) * kKey});
}

/// dispatch_scan.cuh for a 64-bit sum: tuning_scan.cuh DefaultPolicy, 128 threads x 7 items.
Size scan_scratch(const Session& session, Size n) { return tile_states(session, n, 128 * 7, 16); }

// tuning_scan.cuh DefaultPolicy, 128 threads x 15 items, or a larger tile where cub 3 has a tuning.
Size scan_int32_scratch(const Session& session, Size n) { return tile_states(session, n, 128 * 15, 8); }

// dispatch_select_if.cuh, cub 3: the tiles are those that torch 2.11's kernels show, 128 threads x 10 items, and where
// tuning_select_if.cuh has tunings for 8.0, 9.x and 10.x 4608, 8448 and 7040 items.
Size select_scratch(const Session& session, Size n) {
    const Capability& c = session.device.capability;
    Size tile = 128 * 10;
    if (c == Capability{8, 0}) tile = 4608;
    if (c.major == 9) tile = 8448;
    if (c.major >= 10) tile = 7040;
    const std::int64_t descriptor = session.stack.cub_is_3() ? 16 : 8;
    return aliased({(ceil_div(n, tile) + 32) * descriptor});
}

// dispatch_reduce.cuh: a single tile of 256 threads x 16 items needs none, and none is a byte; else a partial sum for
// each block, two to a multiprocessor (occupancy) times five (CUB_SUBSCRIPTION_FACTOR).
Size count_scratch(const Session& session, Size n) {
    return n <= 256 * 16 ? 1 : aliased({session.device.multiprocessors * 2 * 5 * 4});
}

void use_scratch(Session& session, Size bytes, Op op) { const Tensor t = empty(session, {bytes}, DType::uint8, op); }

}  // namespace vramfit::engine
