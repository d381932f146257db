// Fuzzing the readers of trainers' files in JSON.
#include "trainer_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads_trainer_file("config.json", data, size);
}
