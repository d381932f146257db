// Fuzzing the reader of --stack.
#include "reads.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) { (void)stack_from(text); });
}
