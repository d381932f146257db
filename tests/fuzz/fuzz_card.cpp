// Fuzzing the reader of cards in the words of the tracer.
#include "reads.hpp"
#include "vramfit/spec/devices.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) { (void)card_from(text, "card"); });
}
