// A configuration file as a plain value in which every scalar knows its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/trainers/place.hpp"

namespace vramfit::trainers {

struct Value {
    enum class Kind : std::uint8_t {
        null,
        boolean,
        integer,
        real,
        text,
        list,
        map,
        unread  ///< something that a script computes; the text says what and why it cannot be told
    };

    Kind kind = Kind::null;
    bool boolean = false;
    std::int64_t integer = 0;
    double real = 0;                ///< also set for integers
    std::string text;               ///< scalars: as written, without quotes
    bool quoted = false;            ///< a text that could not be read as anything else
    Place place;                    ///< of the value
    std::string file;               ///< where its key stands, if not in the document's file; `place` is the key's then
    std::vector<std::string> keys;  ///< map: keys[i] belongs to items[i]
    std::vector<Place> key_places;  ///< map
    std::vector<Value> items;       ///< list and map

    bool is_scalar() const { return kind != Kind::list && kind != Kind::map; }
    /// The member of that name, or nullptr.
    const Value* find(std::string_view key) const;
    Value* find(std::string_view key);
    /// The member at a path of names joined by dots; a name that has dots itself is found too.
    const Value* at(std::string_view path) const;
    /// Where the key of that path stands; zeros if there is none.
    Place place_of(std::string_view path) const;
    /// How the value is written in messages: `4096.7`, `'text'`, `true`, `nothing`, `a list`, `a map`.
    std::string shown() const;
    /// Takes the member at a path out; false if there is none.
    bool erase(std::string_view path);
    /// Sets the member at a path, making maps on the way.
    void put(std::string_view path, Value value);
    /// Appends a member (map only).
    void add(std::string key, Place place, Value value);

    static Value map(Place place = {});
    static Value list(Place place = {});
    static Value of_text(std::string text, Place place);
    static Value unread(std::string why, Place place);
};

/// What a scalar without quotes is, as PyYAML reads it for the trainers (YAML 1.1), and numbers such as 1e-4, which it
/// leaves to the trainers, as numbers. Throws Error (invalid) for what YAML 1.1 and 1.2 read differently and silently:
/// 010 is 8 in the one and 10 in the other.
Value plain_scalar(std::string text, const FilePlace& place);

/// How a value is written into a file: `4`, `true`, `adamw_torch`.
std::string written(const Value& value);

/// Limits of a file, so that a hostile one costs little.
inline constexpr std::size_t kLargestTrainerFile = std::size_t{4} << 20;
inline constexpr std::size_t kMostValues = 200'000;
inline constexpr int kDeepest = 64;

}  // namespace vramfit::trainers
