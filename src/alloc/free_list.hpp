// The ordered set of free blocks of one stream and pool: sorted runs of at most 64 entries.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vramfit/alloc/caching_allocator.hpp"

namespace vramfit::allocator {

/// Free blocks are ordered by size, then by `order` (BlockComparatorSize, CUDACachingAllocator.cpp).
struct FreeEntry {
    std::int64_t size = 0;
    std::int64_t order = 0;  ///< by TieRule; different for all blocks
    BlockId block = kNoBlock;
};

/// A few hundred entries live in a handful of runs: searching touches one run, inserting moves at most one.
class FreeList {
  public:
    /// A place in the order; any change of the list makes it invalid.
    struct Position {
        std::uint32_t run = 0;
        std::uint32_t index = 0;
        friend bool operator==(const Position&, const Position&) = default;
    };

    Position begin() const { return {0, 0}; }
    Position end() const { return {static_cast<std::uint32_t>(order_.size()), 0}; }
    const FreeEntry& at(Position at) const { return runs_[order_[at.run].slot].entries[at.index]; }
    Position next(Position at) const;
    /// The place before `at`, which must not be the first.
    Position previous(Position at) const;

    /// The first entry of at least `size` bytes.
    Position at_least(std::int64_t size) const;
    void insert(const FreeEntry& entry);
    void erase(Position at);
    /// Erases what is there and inserts `entry`, which mostly stays near: nothing else is then moved.
    void replace(Position at, const FreeEntry& entry);
    /// Of the entry that equals `entry` in its order.
    Position position_of(const FreeEntry& entry) const;

  private:
    static constexpr std::uint32_t kRunCapacity = 64;

    struct Run {
        std::uint32_t count = 0;
        std::array<FreeEntry, kRunCapacity> entries;
    };
    struct Head {
        FreeEntry last;  ///< the run's greatest entry
        std::uint32_t slot = 0;
    };

    std::uint32_t new_run();
    void split(std::uint32_t run);
    void remove_run(std::uint32_t run);

    std::vector<Head> order_;            ///< runs in order
    std::vector<Run> runs_;              ///< storage of runs
    std::vector<std::uint32_t> unused_;  ///< slots of `runs_`
};

}  // namespace vramfit::allocator
