// A loader's block for all that it is about to load, where memory is reserved already.
#pragma once

#include "vramfit/alloc/caching_allocator.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// How large transformers' loader makes the block, given what is reserved and in use.
std::int64_t bytes_of(const WarmUp& warm_up, const PoolStatistics& now);

}  // namespace vramfit
