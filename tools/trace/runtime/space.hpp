// The card's memory as reserved address space: who lies where, and how much of the card is taken. Never written by
// kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace nodevice {

inline constexpr std::size_t kPage = std::size_t{2} << 20;  ///< what a device hands out is a multiple of this

/// All members may be called from any thread.
class Space {
  public:
    enum class Kind { host, device, managed };

    /// Null if the card has no room.
    void* take(std::size_t bytes, Kind kind);
    void give(void* at);

    /// Address space without memory behind it, and memory without an address: the two halves of cuMemMap.
    void* reserve(std::size_t bytes);
    void unreserve(void* at, std::size_t bytes);
    std::uint64_t create(std::size_t bytes);  ///< a handle, or 0 if the card has no room
    void release(std::uint64_t handle);

    /// Whose memory `at` points into.
    Kind kind_of(const void* at);
    std::size_t taken();
    std::size_t managed();
    std::size_t managed_peak(bool restart);

  private:
    struct Range {
        std::size_t bytes;
        Kind kind;
    };

    void* address_for(std::size_t bytes);

    std::mutex lock_;
    std::map<std::uintptr_t, Range> ranges_;
    std::map<std::uint64_t, std::size_t> pieces_;
    std::uint64_t last_piece_ = 0;
    std::uintptr_t low_ = 0, high_ = 0;  ///< what the arena has left
    std::size_t taken_ = 0, managed_ = 0, managed_peak_ = 0;
};

/// The process's only one; it is never destroyed, because libraries free memory while the process ends.
Space& space();

}  // namespace nodevice
