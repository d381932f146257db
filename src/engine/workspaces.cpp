// Sizes of the libraries' workspaces.
#include "engine/workspaces.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::engine {

namespace {

[[noreturn]] void refuse(const char* variable, std::string_view text, const char* hint) {
    throw Error(ErrorKind::invalid, variable, fmt::format("\"{}\" is not understood", text), hint);
}

/// Reads a number and drops it from `text`.
std::int64_t number(std::string_view& text, const char* variable, std::string_view whole, const char* hint) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) refuse(variable, whole, hint);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

std::int64_t chosen_cublaslt_bytes(std::string_view whole) {
    constexpr const char* kVariable = "CUBLASLT_WORKSPACE_SIZE";
    constexpr const char* kHint = "a number of KiB";
    std::string_view rest = whole;
    const std::int64_t kib = number(rest, kVariable, whole, kHint);
    if (!rest.empty()) refuse(kVariable, whole, kHint);
    return checked_mul(kib, kKiB);
}

}  // namespace

std::int64_t cublas_workspace_bytes(const Stack& stack, const Device& device) {
    constexpr const char* kVariable = "CUBLAS_WORKSPACE_CONFIG";
    constexpr const char* kHint = ":4096:8 or :4096:2:16:8";
    if (!device.cublas_workspace_config)
        return stack.cublas_workspace_is_32_mib(device.capability) ? 32 * kMiB : 2 * 4096 * kKiB + 8 * 16 * kKiB;
    const std::string_view whole = *device.cublas_workspace_config;
    std::string_view rest = whole;
    std::int64_t bytes = 0;
    while (!rest.empty()) {
        std::int64_t pair[2];
        for (std::int64_t& value : pair) {
            if (rest.empty() || rest.front() != ':') refuse(kVariable, whole, kHint);
            rest.remove_prefix(1);
            value = number(rest, kVariable, whole, kHint);
        }
        bytes = checked_add(bytes, checked_mul(checked_mul(pair[0], kKiB), pair[1]));
    }
    return bytes;
}

std::int64_t cublaslt_workspace_bytes(const Stack& stack, const Device& device) {
    const std::int64_t bytes =
        device.cublaslt_workspace_size ? chosen_cublaslt_bytes(*device.cublaslt_workspace_size) : std::int64_t{kMiB};
    return stack.cublaslt_workspace_is_limited() ? std::min(bytes, cublas_workspace_bytes(stack, device)) : bytes;
}

}  // namespace vramfit::engine
