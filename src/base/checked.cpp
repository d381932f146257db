// Integer arithmetic that refuses to overflow.
#include "vramfit/base/checked.hpp"

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit {

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        throw Error(ErrorKind::invalid, "", fmt::format("{} x {} is too large to count", a, b),
                    "use smaller sizes; the product must stay below 2^63");
    return product;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        throw Error(ErrorKind::invalid, "", fmt::format("{} + {} is too large to count", a, b),
                    "use smaller sizes; the sum must stay below 2^63");
    return sum;
}

std::int64_t checked_product(std::span<const std::int64_t> sizes) {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes) product = checked_mul(product, size);
    return product;
}

}  // namespace vramfit
