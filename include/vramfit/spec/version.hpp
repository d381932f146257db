// Version numbers of libraries.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace vramfit {

struct Version {
    int major = 0;
    int minor = 0;
    int patch = 0;
    friend constexpr auto operator<=>(const Version&, const Version&) = default;
};

/// "2.11.0", "2.2", "5.17.0.dev0", "2.11.0+cu130"; local and pre-release parts are dropped. Nothing for other text.
std::optional<Version> version_from(std::string_view text);
std::string text_of(const Version& version);

}  // namespace vramfit
