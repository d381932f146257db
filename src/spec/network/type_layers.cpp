// Kinds of layers by places and patterns (docs/reference/network-type.md, Choices).
#include "spec/network/type_layers.hpp"

#include <algorithm>

#include "spec/network/type.hpp"

namespace vramfit::network {

namespace {

/// The value of a key that says something.
const JsonValue* said(const JsonValue& config, const std::string& key) {
    const JsonValue* value = config.find(key);
    return value && value->kind != JsonKind::null ? value : nullptr;
}

}  // namespace

void check_repeated(const Place& rows, const std::vector<std::string>& kinds, const JsonValue& config,
                    const Report& refuse) {
    for (std::size_t n = 0; n < rows.list(0, 100).size(); ++n) {
        const Place row = rows.at(n);
        const std::string& key = row.member("key").text();
        const JsonValue* value = said(config, key);
        if (!value || (value->kind == JsonKind::list && value->items.empty() && row.has("empty"))) continue;
        JsonValue wanted = JsonValue::list({});
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (row.has("pattern")) {
                const Place pattern = row.member("pattern");
                wanted.items.push_back(pattern.at(i % pattern.list(1).size()).json());
            } else if (kinds[i].starts_with(row.member("places").text() + "+")) {
                wanted.items.push_back(JsonValue::of(static_cast<std::int64_t>(i)));
            }
        }
        if (!same_value(*value, wanted)) refuse(key, "layers in such an order were not recorded for this type");
    }
}

std::optional<JsonValue> kinds_at_places(const Place& row, const JsonValue& config, std::size_t layers) {
    const JsonValue* places = said(config, row.member("key").text());
    if (!places) return std::nullopt;
    JsonValue made = JsonValue::list({});
    for (std::size_t i = 0; i < layers; ++i) {
        const bool there = std::any_of(places->items.begin(), places->items.end(), [i](const JsonValue& place) {
            return place.kind == JsonKind::integer && place.integer == static_cast<std::int64_t>(i);
        });
        made.items.push_back(row.member(there ? "kind" : "other").json());
    }
    return made;
}

const JsonValue& known_as(const Place& row, const JsonValue& kind) {
    const bool other = row.has("names") && kind.kind == JsonKind::text && row.member("names").object().has(kind.text);
    return other ? row.member("names").member(kind.text).json() : kind;
}

const JsonValue& kind_by_default(const Place& row, std::size_t layer) {
    const std::size_t begin = row.has("begin") ? row.member("begin").list().size() : 0;
    if (layer < begin) return row.member("begin").at(layer).json();
    const Place pattern = row.member("pattern");
    return pattern.at((layer - begin) % pattern.list(1).size()).json();
}

}  // namespace vramfit::network
