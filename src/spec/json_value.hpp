// A JSON document as a plain value; integers and fractions stay apart, and order of keys is kept.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

struct JsonValue {
    enum class Kind : std::uint8_t { null, boolean, integer, real, text, list, object };

    Kind kind = Kind::null;
    bool boolean = false;
    std::int64_t integer = 0;
    double real = 0;                ///< also set for integers
    std::string text;               ///< a text's content; a fraction's or too large integer's digits as written
    std::vector<std::string> keys;  ///< object: keys[i] belongs to items[i]
    std::vector<JsonValue> items;   ///< list and object

    /// The member of that name, or nullptr.
    const JsonValue* find(std::string_view key) const;
    /// How the value is written in messages: `4096.7`, `"text"`, `true`, `null`, `a list`, `an object`.
    std::string shown() const;

    static JsonValue of(bool value);
    static JsonValue of(std::int64_t value);
    static JsonValue of(double value);
    static JsonValue of(std::string_view value);
    static JsonValue of(const char* value) { return of(std::string_view(value)); }
    static JsonValue list(std::vector<JsonValue> items);
    static JsonValue texts(const std::vector<std::string>& list);
    static JsonValue integers(const std::vector<std::int64_t>& list);
    static JsonValue object() { return make(Kind::object); }
    /// Appends a member (object only) and returns the object.
    JsonValue& put(std::string_view key, JsonValue value);

  private:
    static JsonValue make(Kind kind);
};

/// Text with two spaces of indentation and a final line end.
std::string to_text(const JsonValue& value);

}  // namespace vramfit
