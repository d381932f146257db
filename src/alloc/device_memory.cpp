// The simulated device: a sum that may not pass its limit, and three rules for addresses.
#include "vramfit/alloc/device_memory.hpp"

#include <algorithm>

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit {

namespace {

// The physical page of cudaMalloc and cuMemCreate (cuMemGetAllocationGranularity on every card so far).
constexpr std::int64_t kPage = 2 * kMiB;
// Any addresses would do; reserved ranges lie below segments.
constexpr std::int64_t kLowestRange = kPage;
constexpr std::int64_t kLowestSegment = std::int64_t{1} << 61;
constexpr std::int64_t kHighestSegment = std::int64_t{1} << 62;
constexpr std::int64_t kLargestAvailable = std::int64_t{1} << 61;

}  // namespace

DeviceMemory::DeviceMemory(std::optional<std::int64_t> available, AddressRule rule)
    : available_(std::clamp<std::int64_t>(available.value_or(kLargestAvailable), 0, kLargestAvailable)),
      rule_(rule),
      next_up_(kLowestSegment),
      next_down_(kHighestSegment),
      next_range_(kLowestRange) {}

std::optional<std::int64_t> DeviceMemory::take(std::int64_t bytes) {
    const std::int64_t size = round_up(bytes, kPage);
    if (size > available_ - used_) return std::nullopt;
    const std::optional<std::int64_t> address = place(size);
    if (address) used_ += size;
    return address;
}

std::optional<std::int64_t> DeviceMemory::place(std::int64_t size) {
    if (rule_ == AddressRule::first_fit) return lowest_gap(size);
    if (size > next_down_ - next_up_) return std::nullopt;
    // Seen on Tesla T4 (torch 2.10): reserved peaks fit if segments above one page get falling addresses.
    if (rule_ == AddressRule::small_up_large_down && size > kPage) return next_down_ -= size;
    next_up_ += size;
    return next_up_ - size;
}

std::optional<std::int64_t> DeviceMemory::lowest_gap(std::int64_t size) {
    std::int64_t begin = kLowestSegment;
    auto after = taken_.begin();
    while (after != taken_.end() && after->begin - begin < size) {
        begin = after->end;
        ++after;
    }
    if (size > kHighestSegment - begin) return std::nullopt;
    taken_.insert(after, Extent{begin, begin + size});
    return begin;
}

void DeviceMemory::give(std::int64_t address, std::int64_t bytes) {
    used_ -= round_up(bytes, kPage);
    if (rule_ != AddressRule::first_fit) return;
    const auto extent = std::lower_bound(taken_.begin(), taken_.end(), address,
                                         [](const Extent& e, std::int64_t at) { return e.begin < at; });
    if (extent != taken_.end() && extent->begin == address) taken_.erase(extent);
}

bool DeviceMemory::take_pieces(std::int64_t count, std::int64_t piece) {
    const std::int64_t size = round_up(piece, kPage);
    if (count > (available_ - used_) / size) return false;
    used_ += count * size;
    return true;
}

void DeviceMemory::give_pieces(std::int64_t count, std::int64_t piece) { used_ -= count * round_up(piece, kPage); }

std::optional<std::int64_t> DeviceMemory::reserve_addresses(std::int64_t bytes) {
    const std::int64_t size = round_up(bytes, kPage);
    const auto same =
        std::find_if(returned_.begin(), returned_.end(), [size](const Extent& e) { return e.end - e.begin == size; });
    if (same != returned_.end()) {
        const std::int64_t address = same->begin;
        returned_.erase(same);
        return address;
    }
    if (size > kLowestSegment - next_range_) return std::nullopt;
    next_range_ += size;
    return next_range_ - size;
}

void DeviceMemory::return_addresses(std::int64_t address, std::int64_t bytes) {
    returned_.push_back({address, address + round_up(bytes, kPage)});
}

}  // namespace vramfit
