// Whether a value of a config.json is of a form that a recorded type allows.
#pragma once

#include <cstdint>

#include "spec/json_value.hpp"

namespace vramfit::network {

inline bool is_number(const JsonValue& v) {
    return v.kind == JsonValue::Kind::integer || v.kind == JsonValue::Kind::real;
}
inline bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }
inline bool is_null(const JsonValue& v) { return v.kind == JsonValue::Kind::null; }

/// The same, or of a part every entry that is there.
bool same_entries(const JsonValue& value, const JsonValue& fixed);

/// What a list with the same value for each of so many layers says, or the value itself.
const JsonValue& of_each(const JsonValue& value, std::size_t layers);

/// A list of so many numbers above zero.
bool are_factors(const JsonValue& value, std::int64_t count);

}  // namespace vramfit::network
