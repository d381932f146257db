// The element types of tensors and the one function that turns elements into bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "vramfit/base/bytes.hpp"

namespace vramfit {

/// Element types, in the order of PyTorch's c10/core/ScalarType.h where it matters for promotion.
enum class DType : std::uint8_t { uint8, int8, int32, int64, float16, float32, float64, boolean, bfloat16 };

/// Bytes of one element.
constexpr std::int64_t element_size(DType dtype) {
    switch (dtype) {
        case DType::uint8:
        case DType::int8:
        case DType::boolean: return 1;
        case DType::float16:
        case DType::bfloat16: return 2;
        case DType::int32:
        case DType::float32: return 4;
        case DType::int64:
        case DType::float64: return 8;
    }
    return 0;
}

constexpr bool is_floating(DType dtype) {
    return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 || dtype == DType::float64;
}

/// Floating types of two bytes.
constexpr bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// PyTorch's name without "torch.": "bfloat16", "int64", "bool".
std::string_view name_of(DType dtype);

/// The inverse of `name_of`; also the short forms bf16, fp16, fp32, half, float. Nothing for other text.
std::optional<DType> dtype_from(std::string_view name);

/// Bytes of `elements` elements. Throws Error (invalid) if the product leaves 63 bits.
Bytes size_of(std::int64_t elements, DType dtype);

}  // namespace vramfit
