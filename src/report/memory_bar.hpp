// A GPU's memory as one line of characters: what is used, what is assumed, what is to spare.
#pragma once

#include <string>

#include "vramfit/predict/prediction.hpp"
#include "vramfit/report/format.hpp"

namespace vramfit::report {

/// What of a GPU's memory goes where. The parts sum to the GPU's total, or to more where the run needs more.
struct MemoryParts {
    std::int64_t outside = 0;   ///< of PyTorch: the CUDA context as assumed, what is kept free
    std::int64_t reserved = 0;  ///< by PyTorch's allocator
    std::int64_t assumed = 0;   ///< free as far as is known, and perhaps not
    std::int64_t spare = 0;
    std::int64_t total = 0;  ///< of the GPU

    std::int64_t sum() const { return outside + reserved + assumed + spare; }
};

/// For a prediction with a GPU.
MemoryParts memory_parts(const Prediction& prediction);

/// The bar with a legend below it: `=` outside of PyTorch, `#` reserved, `?` assumed, `.` spare, `|` the GPU's end
/// where the run needs more.
std::string memory_bar(const Prediction& prediction, const Layout& layout);

}  // namespace vramfit::report
