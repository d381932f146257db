// Fuzzing the reader of PYTORCH_CUDA_ALLOC_CONF.
#include "reads.hpp"
#include "vramfit/alloc/settings.hpp"

using namespace vramfit;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads(data, size, [](std::string_view text) { (void)settings_from(text, {}, {}); });
}
