// Flags as they would be typed.
#include "vramfit/predict/plan_changes.hpp"

#include <fmt/format.h>

namespace vramfit {

std::string text_of(const std::vector<FlagValue>& flags) {
    std::string out;
    for (const FlagValue& flag : flags) out += fmt::format("{}--{} {}", out.empty() ? "" : " ", flag.flag, flag.value);
    return out;
}

}  // namespace vramfit
