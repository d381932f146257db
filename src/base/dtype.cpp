// The names of element types, and elements turned into bytes.
#include "vramfit/base/dtype.hpp"

#include <array>
#include <utility>

#include "vramfit/base/checked.hpp"

namespace vramfit {

namespace {

// Canonical names as in `str(dtype)` without "torch."; PyTorch defines them in torch/csrc/utils/tensor_dtypes.cpp,
// getDtypeNames. The second table holds the short forms of the same function and of TrainingArguments.
constexpr std::array<std::pair<std::string_view, DType>, 9> kNames{{
    {"uint8", DType::uint8},
    {"int8", DType::int8},
    {"int32", DType::int32},
    {"int64", DType::int64},
    {"float16", DType::float16},
    {"float32", DType::float32},
    {"float64", DType::float64},
    {"bool", DType::boolean},
    {"bfloat16", DType::bfloat16},
}};

constexpr std::array<std::pair<std::string_view, DType>, 5> kShortNames{{
    {"bf16", DType::bfloat16},
    {"fp16", DType::float16},
    {"fp32", DType::float32},
    {"half", DType::float16},
    {"float", DType::float32},
}};

}  // namespace

std::string_view name_of(DType dtype) {
    for (const auto& [name, value] : kNames)
        if (value == dtype) return name;
    return "unknown";
}

std::optional<DType> dtype_from(std::string_view name) {
    for (const auto& [known, value] : kNames)
        if (known == name) return value;
    for (const auto& [known, value] : kShortNames)
        if (known == name) return value;
    return std::nullopt;
}

Bytes size_of(std::int64_t elements, DType dtype) { return Bytes{checked_mul(elements, element_size(dtype))}; }

}  // namespace vramfit
