// The text of torch's OutOfMemoryError beside the prediction: which request it was, or what it suggests if there is
// none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/alloc/caching_allocator.hpp"
#include "vramfit/snapshot/compare.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// A size as torch prints it, with two decimals: the bytes lie within `bytes` +- `error`.
struct PrintedSize {
    std::int64_t bytes = 0;
    std::int64_t error = 0;

    bool holds(std::int64_t other) const { return other >= bytes - error && other <= bytes + error; }
};

/// What the error says (c10/cuda/CUDACachingAllocator.cpp, malloc; releases 2.0 to 2.15).
struct OomMessage {
    PrintedSize tried;
    std::optional<PrintedSize> total;        ///< of the GPU
    std::optional<PrintedSize> free;         ///< of the GPU
    std::optional<PrintedSize> process;      ///< in use by this process
    std::optional<PrintedSize> others;       ///< in use by the processes that are named beside it
    std::optional<PrintedSize> allowed;      ///< by a memory fraction
    PrintedSize allocated;                   ///< by PyTorch
    std::optional<PrintedSize> unallocated;  ///< reserved by PyTorch but unallocated
};

/// Finds the error in a text, the last of several. Throws Error (invalid) where there is none.
OomMessage read_oom_message(std::string_view text, std::string_view where);

/// A predicted allocation for which the device may be asked for as much as the error says.
struct OomRequest {
    std::string window;
    PredictedAllocation what;
    std::int64_t segment = 0;    ///< that the device is asked for
    std::int64_t allocated = 0;  ///< before it
    std::int64_t reserved = 0;
};

struct OomExplanation {
    OomMessage message;
    std::size_t same_size = 0;          ///< predicted allocations of that size
    std::optional<OomRequest> nearest;  ///< of them, the one with most nearly as much allocated before it
    bool same_state = false;            ///< and that is as much as the error says
    std::int64_t allocated_peak = 0;    ///< predicted
    std::int64_t reserved_peak = 0;
    /// Where no allocation has that size: one that would, in rows of another number of tokens.
    std::optional<OomRequest> scaled;
    std::int64_t scaled_tokens = 0;  ///< of a row
};

/// `batch` rows of `tokens` tokens are predicted. `options`: the allocator on a card that is large enough.
OomExplanation explain_oom(const OomMessage& message, const Program& program, const AllocatorOptions& options,
                           std::int64_t batch, std::int64_t tokens);

}  // namespace vramfit
