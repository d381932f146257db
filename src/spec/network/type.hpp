// The recording of a type of networks (vramfit.network-type/1): the network of any config.json of that type.
// docs/reference/network-type.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/json_value.hpp"
#include "spec/network/document.hpp"
#include "spec/network/json_place.hpp"
#include "spec/problems.hpp"
#include "vramfit/spec/model_spec.hpp"

namespace vramfit::network {

using JsonKind = JsonValue::Kind;

/// What to do where a type does not cover a configuration.
inline constexpr std::string_view kOwnRecording = "record this very network: docs/howto/own-network.md";

/// Numbers of a configuration by their keys.
using Numbers = std::map<std::string, std::int64_t, std::less<>>;

/// A formula with the numbers of these keys: an integer, or the text of a sum of batch and length. Throws Error
/// (invalid) for a text that is no formula, whose numbers have more than 63 bits, or where one does not divide another.
JsonValue folded(std::string_view formula, const Numbers& numbers);

/// Of a type whose configuration has parts, of text and of images: a config.json with all keys at one level, as the
/// type calls them. Otherwise the same.
JsonValue in_one_level(const Place& type, const JsonValue& config);
/// Where such a key stands in the config.json: "vision_config/hidden_size".
std::string place_in_parts(const Place& type, std::string_view key);

/// Raises the numbers of an instruction's values by `by`, from number `first` on.
void renumber(JsonValue& row, std::int64_t by, std::int64_t first);

/// A variant without its program, as it names the node.
std::string name_of_row(const JsonValue& row);

/// Whether two values are the same in JSON; numbers are by what they are, not how they are written.
bool same_value(const JsonValue& a, const JsonValue& b);

/// Equal for values that are the same; the kind of a number counts.
std::size_t hash_of(const JsonValue& value);

/// A config.json by the keys of a type.
struct TypeConfig {
    Numbers numbers;
    std::map<std::string, JsonValue, std::less<>> values;  ///< of all keys that the type reads
    std::map<std::string, JsonValue, std::less<>> chosen;  ///< the state of each choice
    std::vector<std::string> kinds;                        ///< of each layer
    std::optional<std::int64_t> width_of_heads;            ///< where `numbers` are those of one of several processes

    /// A formula with that width, which is a quotient of two numbers of the whole.
    std::string of_piece(std::string formula) const;
};

/// The part of one of several processes that share each layer: keys of the configuration of which it has one part.
struct Piece {
    std::int64_t pieces = 1;
    std::vector<std::string> keys = {};
};

/// Reports each key whose value the recording does not cover (unsupported), or that no such network has (invalid).
TypeConfig read_type_config(const Place& type, const JsonValue& config, const std::string& path, Problems& problems);

/// The network as the recorder would record it, in JSON. Throws Error (unsupported) where choices were not recorded
/// together, (invalid) for a type that is no such document.
JsonValue network_of(const Place& type, const TypeConfig& config, const JsonValue& given);

/// Both, read as a recording is. Throws Error with all keys that the recording does not cover; `file` has the
/// configuration, at `path`.
Document instantiate(const JsonValue& type, const JsonValue& config, const std::string& path, const std::string& file,
                     const Piece& piece = {});
/// The same of a type's text.
Document instantiate(std::string_view type, const JsonValue& config, const std::string& path, const std::string& file);

/// What a type was recorded with, and how far it was checked.
struct TypeFacts {
    std::string_view transformers;
    std::string_view torch;
    std::int64_t networks = 0;  ///< that were compared with recordings of their own
    std::int64_t jobs = 0;      ///< that were compared with traces of the real libraries
};

/// The recording of a type that is part of the program.
struct TypeRecording {
    std::string_view packed;  ///< the documents of several types, compressed
    std::size_t begin;        ///< of this one's among them
    std::size_t size;
    TypeFacts facts;

    std::string text() const;
    /// Unpacked and read when it is asked for first. Several threads may ask at once.
    const JsonValue& document() const;
};

/// A type that is part of the program.
struct BuiltInType : TypeRecording {
    std::string_view model_type;
    std::span<const TypeRecording> other_releases;  ///< of transformers, where its networks are others
};

/// The model of a config.json of the type. Throws Error as instantiate() and model_of() do.
ModelSpec model_of(const TypeRecording& type, const JsonValue& config, const std::string& path, const std::string& file,
                   std::string_view name);

/// By name, in alphabetical order.
std::span<const BuiltInType> built_in_types();
/// The type of that name, or nullptr.
const BuiltInType* built_in_type(std::string_view model_type);
/// The type of a config.json, or nullptr: of models of text and images whose text part may be of several types it has
/// the names of both ("mistral3_ministral3").
const BuiltInType* built_in_type_of(const JsonValue& config);

}  // namespace vramfit::network
