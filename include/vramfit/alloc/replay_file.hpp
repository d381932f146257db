// Replays text files of allocator events: `vramfit replay FILE`.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/alloc/caching_allocator.hpp"

namespace vramfit {

// The file holds vectors; each begins with "vector NAME", then header lines, then events, and ends with "end":
//
//   capacity BYTES          the device's memory; absent: any amount
//   foreign BYTES           of which others use this much
//   settings CONF           PYTORCH_CUDA_ALLOC_CONF, or - for none
//   fraction X              torch.cuda.set_per_process_memory_fraction(X)
//   tie_independent yes|no  kept, without effect
//
//   a ID BYTES [STREAM]     allocate          f ID          free
//   rs ID STREAM            record_stream     done STREAM   everything recorded on STREAM is done
//   empty                   empty_cache       rpk           reset peaks
//   cfg CONF                change settings   peak          the peaks at the end
//
// "#" begins a comment line. An event line may continue with " = " and its expected values:
//   ok|OOM  allocated active reserved requested inactive_split segments active_blocks retries ooms device_allocs
//   device_frees
// The peak line holds alloc= active= resv= req= isb=.

/// A line whose expected values are not those of the replay.
struct ReplayMismatch {
    std::int64_t line = 0;
    std::string vector;
    std::string expected;
    std::string actual;
};

struct ReplayFileOptions {
    AddressRule addresses = AddressRule::first_fit;
    TieRule ties = TieRule::address;
};

struct ReplayFileSummary {
    std::int64_t vectors = 0;
    std::int64_t events = 0;
    std::int64_t compared = 0;  ///< lines that had expected values
    std::vector<ReplayMismatch> mismatches;
};

/// Copies every line of `in` to `out`, the events and the peak with the values of the replay. Throws Error at the first
/// line that cannot be understood, with "FILE:LINE" as its place; `file` is used for that only.
ReplayFileSummary replay_lines(std::istream& in, std::ostream& out, std::string_view file,
                               const ReplayFileOptions& options = {});

struct ReplayFileResult {
    std::string text;
    ReplayFileSummary summary;
};

/// The same from text to text.
ReplayFileResult replay_text(std::string_view text, std::string_view file, const ReplayFileOptions& options = {});

}  // namespace vramfit
