// Which products with a 4-bit weight run in bitsandbytes' fused kernel.
#pragma once

#include <cstdint>

#include "symbolic/size.hpp"
#include "vramfit/base/dtype.hpp"
#include "vramfit/spec/device.hpp"

namespace vramfit::model {

/// The product of `m` rows of `k` numbers with a weight of `n` by `k`: 0 if the kernel unpacks the weight itself,
/// 1 if the weight is unpacked first. bitsandbytes 0.50.2, backends/cuda/ops.py, bitsandbytes::gemm_4bit.
Size unpacks_4bit(const Device& device, DType dtype, Size m, Size n, Size k);

}  // namespace vramfit::model
