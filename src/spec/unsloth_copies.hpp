// Unsloth's own 4-bit copies of checkpoints, and which of their layers stay in 16 bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Of copies with layers in 16 bits; those with none end in "-bnb-4bit" alone.
inline constexpr std::string_view kDynamicEnding = "-unsloth-bnb-4bit";

/// The name of the network that Unsloth's packed checkpoint has: without "-bnb-4bit" or "-unsloth-bnb-4bit".
std::string unpacked_name(std::string_view name);

/// The copy that is taken for a name: which of its layers are in 16 bits.
struct DynamicCopy {
    std::string name;                                      ///< "unsloth/llama-3.2-1b-unsloth-bnb-4bit"
    std::optional<std::vector<std::string>> skip_modules;  ///< absent: not known here
};

/// Absent: the name's own checkpoint is loaded, or one that has all layers in 4 bits. name -- in lower case.
std::optional<DynamicCopy> dynamic_copy_of(std::string_view name);

}  // namespace vramfit
