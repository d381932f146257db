// transformers 5.17 modeling_utils.py caching_allocator_warmup.
#include "alloc/warm_up.hpp"

#include <algorithm>

namespace vramfit {

std::int64_t bytes_of(const WarmUp& warm_up, const PoolStatistics& now) {
    constexpr std::int64_t kWorthwhile = std::int64_t{3} << 29;  // 1.5 GiB
    const std::int64_t unused = now.reserved.current - now.allocated.current;
    const std::int64_t more = warm_up.bytes - unused;
    std::int64_t bytes = more > unused ? more : more > kWorthwhile ? unused + 1 : 0;
    bytes = std::min(bytes, warm_up.most);
    return bytes / 2 * 2;  // elements of float16
}

}  // namespace vramfit
