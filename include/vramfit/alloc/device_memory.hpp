// A simulated device that hands out memory: how much is left, and at which addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace vramfit {

/// Where new segments lie. Addresses break ties between free blocks of equal size, so they decide where tensors go.
enum class AddressRule : std::uint8_t {
    small_up_large_down,  ///< at most 2 MiB at rising, larger at falling addresses, none used twice: what CUDA was seen
                          ///< to do
    rising,               ///< every segment above all earlier ones
    first_fit,            ///< the lowest free address
};

/// Device memory in units of 2 MiB; a value.
class DeviceMemory {
  public:
    /// `available` bytes in all; absent: as many as asked for.
    DeviceMemory(std::optional<std::int64_t> available, AddressRule rule);

    /// cudaMalloc: an address, or nothing when the memory is used up.
    std::optional<std::int64_t> take(std::int64_t bytes);
    /// cudaFree of what `take` returned.
    void give(std::int64_t address, std::int64_t bytes);

    /// cuMemCreate and cuMemRelease: physical memory that is mapped elsewhere.
    bool take_pieces(std::int64_t count, std::int64_t piece);
    void give_pieces(std::int64_t count, std::int64_t piece);

    /// cuMemAddressReserve and cuMemAddressFree: addresses without memory, below all segments.
    std::optional<std::int64_t> reserve_addresses(std::int64_t bytes);
    void return_addresses(std::int64_t address, std::int64_t bytes);

    std::int64_t used() const { return used_; }

  private:
    struct Extent {
        std::int64_t begin;
        std::int64_t end;
    };

    std::optional<std::int64_t> place(std::int64_t size);
    std::optional<std::int64_t> lowest_gap(std::int64_t size);

    std::int64_t available_;
    AddressRule rule_;
    std::int64_t used_ = 0;
    std::int64_t next_up_;
    std::int64_t next_down_;
    std::int64_t next_range_;
    std::vector<Extent> taken_;     ///< first_fit only: by address
    std::vector<Extent> returned_;  ///< reserved addresses that came back
};

}  // namespace vramfit
