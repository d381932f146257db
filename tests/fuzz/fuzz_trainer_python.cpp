// Fuzzing the readers of trainers' files in Python.
#include "trainer_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return reads_trainer_file("train.py", data, size);
}
