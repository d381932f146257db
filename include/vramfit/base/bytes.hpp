// A count of bytes: signed 64-bit, never mixed with other integers by accident.
#pragma once

#include <compare>
#include <cstdint>

namespace vramfit {

/// A number of bytes. Signed, so that differences are values too.
struct Bytes {
    std::int64_t count = 0;

    constexpr Bytes() = default;
    constexpr explicit Bytes(std::int64_t n) : count(n) {}

    friend constexpr auto operator<=>(Bytes, Bytes) = default;
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.count + b.count}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count - b.count}; }
    constexpr Bytes& operator+=(Bytes b) {
        count += b.count;
        return *this;
    }
    constexpr Bytes& operator-=(Bytes b) {
        count -= b.count;
        return *this;
    }
};

inline constexpr std::int64_t kKiB = std::int64_t{1} << 10;
inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

}  // namespace vramfit
