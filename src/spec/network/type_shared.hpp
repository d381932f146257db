// Layers of a type of which the last ones take keys and values of others (Gemma 4), and rotary embeddings that a
// configuration says for each kind of layer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/json_value.hpp"
#include "spec/network/json_place.hpp"
#include "spec/network/type_layers.hpp"

namespace vramfit::network {

/// What each layer does with keys and values beside its kind of attention: "own+sliding_attention". The last `shared`
/// take them, the last ones of each kind before these leave theirs, perhaps only `where_shared`.
std::vector<std::string> with_roles(const std::vector<std::string>& kinds, std::size_t shared, bool where_shared);

/// Marks the layers of whose feed-forward part only the largest numbers count (Gemma 3n): `given` has a share for each
/// layer, or nothing. False: it is no such list.
bool mark_sparse(const Place& row, const JsonValue* given, std::vector<std::string>& kinds);

/// The recorded layers that have these: the same first and last one, and those between. Null: there are none.
const JsonValue* recorded_layers(const Place& known, const std::vector<std::string>& kinds);

/// Rotary embeddings of the class's own type for each kind of layer, whose numbers go into frequencies only, or none.
void check_rope_of_kinds(const Place& type, const JsonValue& config, const Report& refuse, const Report& reject);

}  // namespace vramfit::network
