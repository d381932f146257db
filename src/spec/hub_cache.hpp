// The local Hugging Face cache: where it is, and the config.json of an id in it.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "vramfit/spec/environment.hpp"

namespace vramfit {

/// The folder of cached repositories, as huggingface_hub finds it; empty if no home is known.
std::filesystem::path hub_cache(const Environment& environment);

/// The config.json of "organization/name" (or "name") at the revision that `main` names, or the only one there is.
std::optional<std::filesystem::path> cached_config(std::string_view id, const Environment& environment);

}  // namespace vramfit
