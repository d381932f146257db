// Kinds of layers that a configuration says in other ways than as a list: by places, by a pattern, or once more.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/json_value.hpp"
#include "spec/network/json_place.hpp"

namespace vramfit::network {

/// Reports a key that was not recorded, or that cannot be.
using Report = std::function<void(std::string_view key, std::string what)>;

/// Keys that say once more what the layers are: each a value for each layer, or the places of one kind.
void check_repeated(const Place& rows, const std::vector<std::string>& kinds, const JsonValue& config,
                    const Report& refuse);

/// A list of kinds from the places of one of them; nothing where the configuration has none.
std::optional<JsonValue> kinds_at_places(const Place& row, const JsonValue& config, std::size_t layers);

/// A kind of layer by the name that it has in the recording: older configurations name some in another way.
const JsonValue& known_as(const Place& row, const JsonValue& kind);

/// Where no list is given: some at the beginning, then a pattern that repeats.
const JsonValue& kind_by_default(const Place& row, std::size_t layer);

}  // namespace vramfit::network
