// What other tools call our flags.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vramfit::cli {

/// "here it is --format json" for "--json", or nothing where the name is no other tool's, or names a flag that is not
/// among `known`.
std::string hint_of_other_name(std::string_view flag, std::span<const std::string_view> known);

}  // namespace vramfit::cli
