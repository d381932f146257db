// Kinds of layers that a configuration says in other ways than as a list: by places, by a pattern, or once more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

/// The kinds of layers that a configuration says: by its list, by the places of one of them, or by a text with a letter
/// for each layer. Nothing where it says none.
std::optional<JsonValue> kinds_said(const Place& row, const std::string& key, const JsonValue& config,
                                    std::size_t layers);

/// The size that layers of each attention share, by its name: of a list with one for each layer (`sizes`), or of the
/// key that says it of all. Goes into the numbers that formulas are made of.
void read_sizes_of_kinds(const Place& row, const std::vector<std::string>& kinds, const JsonValue& config,
                         std::map<std::string, std::int64_t, std::less<>>& numbers, const Report& refuse,
                         const Report& reject);

/// How many layers the list or the text has, where no number is said.
std::int64_t layers_listed(const Place& row, const JsonValue& config);

/// Marks the first or the last layer, which is of a kind of its own (`ends`).
void mark_ends(const Place& row, std::vector<std::string>& kinds);

/// Which of the `known` lists of layers was recorded in place of these: one layer, four of one kind, or the first, all
/// kinds that there are, and the last; or more layers of the same kinds with the same ends. Null: none.
const JsonValue* recorded_state(const Place& row, const Place& known, const std::vector<std::string>& kinds);

/// The numbers of the layers that a row of text runs: all but those of kinds that are `idle`.
std::vector<std::int64_t> layers_run(const Place& row, const std::vector<std::string>& kinds);

/// The layers of a program as they were written out: the number of the first value that one makes, how many each makes,
/// and how many layers there are.
struct LayerLoop {
    std::int64_t first = 0, each = 0, count = 0;

    /// By how much the numbers of values behind the layers are higher than those of two layers.
    std::int64_t back() const { return (count > 2 ? count - 2 : 0) * each; }

    /// An instruction behind the layers. A list among the values that end has those of the first layer and means all
    /// layers', the last layer's first, as a cache goes.
    JsonValue of_all(JsonValue row) const;
};

/// A kind of layer by the name that it has in the recording: older configurations name some in another way.
const JsonValue& known_as(const Place& row, const JsonValue& kind);

/// Where no list is given: some at the beginning, then a pattern that repeats; the last one may be
/// of a kind of its own whatever the pattern says (`last`).
const JsonValue& kind_by_default(const Place& row, std::size_t layer, std::size_t layers);

/// The ties of a type, of which a name with a kind in place of the layer's number (`model.layers.*hybrid.weight`) is
/// that of all layers of the kind. Throws Error (unsupported) where there is one such layer alone.
JsonValue ties_of_layers(JsonValue ties, const std::vector<std::string>& kinds);

}  // namespace vramfit::network
