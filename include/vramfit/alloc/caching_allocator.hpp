// A model of PyTorch's native CUDA caching allocator: the decisions and the statistics, without memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vramfit/alloc/device_memory.hpp"
#include "vramfit/alloc/settings.hpp"
#include "vramfit/alloc/statistics.hpp"
#include "vramfit/base/bytes.hpp"

namespace vramfit {

/// Which of several free blocks of equal size is taken.
enum class TieRule : std::uint8_t {
    address,           ///< the lowest address: torch up to 2.11
    segment_creation,  ///< the earliest segment, then the lowest address: pull request 183591 (mid-2026)
    block_creation,    ///< the earliest block: torch 2.12.0 (pull request 178362)
};

/// What an allocator is built on.
struct AllocatorOptions {
    AllocatorSettings settings;
    std::optional<Bytes> capacity;          ///< what the device can give to this allocator; absent: any amount
    std::optional<Bytes> device_total;      ///< the device's whole memory, which fractions refer to; absent: `capacity`
    std::optional<double> memory_fraction;  ///< torch.cuda.set_per_process_memory_fraction, a limit also at 1.0
    AddressRule addresses = AddressRule::small_up_large_down;
    TieRule ties = TieRule::address;
};

/// A live block; the number may be used again after its free.
using BlockId = std::uint32_t;
inline constexpr BlockId kNoBlock = 0xffffffffu;

/// What became of a request. A request of 0 bytes succeeds without a block.
struct AllocationResult {
    bool ok = false;  ///< false: OutOfMemoryError
    BlockId block = kNoBlock;
};

enum class BlockState : std::uint8_t { allocated, pending_free, inactive, unmapped };

/// A block as torch.cuda.memory_snapshot() shows it, with the unmapped ones of expandable segments.
struct BlockView {
    std::int64_t address = 0;
    std::int64_t size = 0;
    std::int64_t requested = 0;  ///< of live and pending blocks
    BlockState state = BlockState::inactive;

    friend bool operator==(const BlockView&, const BlockView&) = default;
};

struct SegmentView {
    std::int64_t address = 0;
    std::int64_t size = 0;      ///< of an expandable segment: its whole address range
    std::int64_t reserved = 0;  ///< bytes of device memory in it
    std::int32_t stream = 0;
    bool small = false;
    bool expandable = false;
    std::vector<BlockView> blocks;  ///< tile the segment

    friend bool operator==(const SegmentView&, const SegmentView&) = default;
};

/// One device's allocator. Mirrors DeviceCachingAllocator of c10/cuda/CUDACachingAllocator.cpp (2.6.0).
class CachingAllocator {
  public:
    explicit CachingAllocator(const AllocatorOptions& options = {});
    CachingAllocator(const CachingAllocator& other);
    CachingAllocator(CachingAllocator&&) noexcept;
    CachingAllocator& operator=(CachingAllocator other) noexcept;
    ~CachingAllocator();

    AllocationResult malloc(std::int64_t bytes, std::int32_t stream = 0);
    /// Ends a block that `malloc` returned; kNoBlock is ignored.
    void free(BlockId block);

    /// tensor.record_stream: the block is also used on `stream` and waits for it when freed.
    void record_stream(BlockId block, std::int32_t stream);
    /// Everything recorded on `stream` so far is done; seen by the next malloc.
    void finish_stream(std::int32_t stream);
    /// The same of the first `frees` blocks that were freed while `stream` used them, since the beginning.
    void finish_stream(std::int32_t stream, std::size_t frees);

    void empty_cache();
    void reset_peaks();
    /// Settings changed while running. Undefined in PyTorch where a changed max_split_size meets split blocks:
    /// here a split block is never returned to the device.
    void change_settings(const AllocatorSettings& settings);

    const AllocatorStatistics& statistics() const;
    /// By address.
    std::vector<SegmentView> snapshot() const;
    /// Where a live block begins; -1 for kNoBlock.
    std::int64_t address_of(BlockId block) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace vramfit
