// Fuzzing the reader of allocator events, and the allocator that runs them.
#include "reads.hpp"
#include "vramfit/alloc/replay_file.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) { (void)replay_text(text, "events.txt", {}); });
}
