// Fuzzing the reader of trainers' files in the syntax python.
#include "trainer_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    read_trainer_file("train.py", {reinterpret_cast<const char*>(data), size});
    return 0;
}
