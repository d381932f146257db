// Fuzzing the reader of amounts of memory.
#include "reads.hpp"
#include "vramfit/spec/sizes.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) { (void)size_from(text, "--reserve"); });
}
