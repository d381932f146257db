// Whether a value of a config.json is of a form that a recorded type allows.
#include "spec/network/allowed.hpp"

#include <algorithm>

#include "spec/network/type.hpp"

namespace vramfit::network {

bool same_entries(const JsonValue& value, const JsonValue& fixed) {
    if (value.kind != JsonValue::Kind::object || fixed.kind != JsonValue::Kind::object) return same_value(value, fixed);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        const JsonValue* own = fixed.find(value.keys[i]);
        if (!own || !same_value(value.items[i], *own)) return false;
    }
    return true;
}

const JsonValue& of_each(const JsonValue& value, std::size_t layers) {
    if (value.kind != JsonValue::Kind::list || value.items.empty() || value.items.size() != layers) return value;
    const JsonValue& first = value.items.front();
    const bool alike = std::all_of(value.items.begin(), value.items.end(),
                                   [&](const JsonValue& one) { return same_value(one, first); });
    return alike ? first : value;
}

bool are_factors(const JsonValue& value, std::int64_t count) {
    return value.kind == JsonValue::Kind::list && static_cast<std::int64_t>(value.items.size()) == count &&
           std::all_of(value.items.begin(), value.items.end(),
                       [](const JsonValue& one) { return is_number(one) && one.real > 0; });
}

}  // namespace vramfit::network
