// Fuzzing the reader of what pip freeze prints.
#include "reads.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) { (void)stack_from_pip_freeze(text, "freeze.txt"); });
}
