// Kinds of layers by places and patterns (docs/reference/network-type.md, Choices).
#include "spec/network/type_layers.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "spec/network/type.hpp"
#include "vramfit/base/error.hpp"

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

namespace {

/// A list of kinds from the places of one of them.
JsonValue kinds_at_places(const Place& row, const JsonValue& places, std::size_t layers) {
    JsonValue made = JsonValue::list({});
    for (std::size_t i = 0; i < layers; ++i) {
        const bool there = std::any_of(places.items.begin(), places.items.end(), [i](const JsonValue& place) {
            return place.kind == JsonKind::integer && place.integer == static_cast<std::int64_t>(i);
        });
        made.items.push_back(row.member(there ? "kind" : "other").json());
    }
    return made;
}

/// A list of kinds from a text with a letter for each layer.
JsonValue kinds_by_letters(const Place& kinds, const std::string& text) {
    JsonValue made = JsonValue::list({});
    for (const char letter : text) {
        const std::string one(1, letter);
        made.items.push_back(kinds.has(one) ? kinds.member(one).json() : JsonValue::of(std::string_view(one)));
    }
    return made;
}

/// The text with a letter for each layer.
const JsonValue* letters_of(const Place& row, const JsonValue& config) {
    if (!row.has("letters")) return nullptr;
    const JsonValue* text = said(config, row.member("letters").member("key").text());
    return text && text->kind == JsonKind::text ? text : nullptr;
}

}  // namespace

std::optional<JsonValue> kinds_said(const Place& row, const std::string& key, const JsonValue& config,
                                    std::size_t layers) {
    const std::string places_key = row.has("places") ? row.member("places").member("key").text() : std::string();
    if (const JsonValue* list = said(config, key); list && key != places_key) return *list;
    if (row.has("places"))
        if (const JsonValue* places = said(config, places_key))
            return kinds_at_places(row.member("places"), *places, layers);
    if (const JsonValue* text = letters_of(row, config))
        return kinds_by_letters(row.member("letters").member("kinds").object(), text->text);
    return std::nullopt;
}

void read_sizes_of_kinds(const Place& row, const std::vector<std::string>& kinds, const JsonValue& config,
                         std::map<std::string, std::int64_t, std::less<>>& numbers, const Report& refuse,
                         const Report& reject) {
    const std::string& key = row.member("key").text();
    const auto all = numbers.find(row.member("default").text());
    const JsonValue* list = said(config, key);
    if (!list && all == numbers.end()) return;  // which is reported
    if (list && (list->kind != JsonKind::list || list->items.size() != kinds.size()))
        return reject(key, fmt::format("a list of {} sizes is wanted", kinds.size()));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const JsonValue size = list ? list->items[i] : JsonValue::of(all->second);
        if (size.kind != JsonKind::integer || size.integer < 1)
            return reject(key, fmt::format("{} cannot be", size.shown()));
        const std::string attention = kinds[i].substr(kinds[i].rfind('+') + 1);
        const auto known = numbers.emplace(row.member("names").member(attention).text(), size.integer).first;
        if (known->second != size.integer)
            return refuse(key, fmt::format("layers of kind {} that differ were not recorded for this type", attention));
    }
}

std::int64_t layers_listed(const Place& row, const JsonValue& config) {
    const JsonValue* list = row.has("list") ? said(config, row.member("list").text()) : nullptr;
    if (list) return list->kind == JsonKind::list ? static_cast<std::int64_t>(list->items.size()) : 0;
    const JsonValue* text = letters_of(row, config);
    return text ? static_cast<std::int64_t>(text->text.size()) : 0;
}

void mark_ends(const Place& row, std::vector<std::string>& kinds) {
    const Place ends = row.member("ends").object();
    const auto mark = [&](const char* end, std::string& kind) {
        if (!ends.has(end)) return;
        const std::string& own = ends.member(end).text();
        kind = kind.empty() ? own : own + "+" + kind;
    };
    mark("first", kinds.front());
    if (kinds.size() > 1 || !ends.has("first")) mark("last", kinds.back());
}

namespace {

/// One layer, or four of one kind, or the first, all kinds that there are, and the last.
std::vector<std::string> plain_state(const Place& row, const std::vector<std::string>& kinds) {
    if (kinds.size() == 1) return kinds;
    const bool ends = row.has("ends");
    if (ends && !row.has("kinds")) {
        std::vector<std::string> state(4);
        mark_ends(row, state);
        return state;
    }
    const std::set<std::string> there(kinds.begin() + (ends ? 1 : 0), kinds.end());
    if (there.size() == 1 && !ends) return std::vector<std::string>(4, kinds.front());
    std::vector<std::string> state{kinds.front()};
    state.insert(state.end(), there.begin(), there.end());
    state.push_back(kinds.back());
    return state;
}

}  // namespace

const JsonValue* recorded_state(const Place& row, const Place& known, const std::vector<std::string>& kinds) {
    const std::vector<std::string> wanted = plain_state(row, kinds);
    const std::set<std::string> all(wanted.begin(), wanted.end());
    const JsonValue* found = nullptr;
    for (std::size_t i = 0; i < known.list().size(); ++i) {
        std::vector<std::string> state;
        for (std::size_t n = 0; n < known.at(i).list(1).size(); ++n) state.push_back(known.at(i).at(n).text());
        if (state == wanted) return &known.at(i).json();
        const bool same_ends = state.front() == wanted.front() && state.back() == wanted.back();
        const bool longer = wanted.size() > 1 && state.size() > wanted.size();
        if (!found && longer && same_ends && std::set(state.begin(), state.end()) == all) found = &known.at(i).json();
    }
    return found;
}

std::vector<std::int64_t> layers_run(const Place& row, const std::vector<std::string>& kinds) {
    std::set<std::string> idle;
    if (row.has("idle"))
        for (std::size_t i = 0; i < row.member("idle").list().size(); ++i) idle.insert(row.member("idle").at(i).text());
    std::vector<std::int64_t> run;
    for (std::size_t i = 0; i < kinds.size(); ++i)
        if (!idle.contains(kinds[i])) run.push_back(static_cast<std::int64_t>(i));
    return run;
}

JsonValue LayerLoop::of_all(JsonValue row) const {
    if (row.items.size() != 2 || row.items[0].text != "end") return row;
    JsonValue all = JsonValue::list({});
    for (JsonValue& one : row.items[1].items) {
        if (one.kind != JsonKind::list) {
            all.items.push_back(std::move(one));
            continue;
        }
        for (std::int64_t layer = count - 1; layer >= 0; --layer)
            for (const JsonValue& value : one.items) all.items.push_back(JsonValue::of(value.integer + layer * each));
    }
    row.items[1] = std::move(all);
    return row;
}

const JsonValue& known_as(const Place& row, const JsonValue& kind) {
    const bool other = row.has("names") && kind.kind == JsonKind::text && row.member("names").object().has(kind.text);
    return other ? row.member("names").member(kind.text).json() : kind;
}

const JsonValue& kind_by_default(const Place& row, std::size_t layer, std::size_t layers) {
    if (row.has("last") && layer + 1 == layers) return row.member("last").json();
    const std::size_t begin = row.has("begin") ? row.member("begin").list().size() : 0;
    if (layer < begin) return row.member("begin").at(layer).json();
    const Place pattern = row.member("pattern");
    return pattern.at((layer - begin) % pattern.list(1).size()).json();
}

JsonValue ties_of_layers(JsonValue ties, const std::vector<std::string>& kinds) {
    for (JsonValue& names : ties.items) {
        const std::string name = names.items.front().text;
        const std::size_t star = name.find(".*");
        if (star == std::string::npos) continue;
        const std::size_t end = name.find('.', star + 1);
        const std::string kind = name.substr(star + 2, end - star - 2);
        std::vector<JsonValue> all;
        for (std::size_t i = 0; i < kinds.size(); ++i)
            if (kinds[i] == kind)
                all.push_back(
                    JsonValue::of(std::string_view(fmt::format("{}.{}{}", name.substr(0, star), i, name.substr(end)))));
        if (all.size() < 2)
            throw Error(ErrorKind::unsupported, "model",
                        fmt::format("a single layer of kind {}, which shares its parameters with none", kind),
                        "two such layers at least: transformers stops with one (tie_weights_keys)");
        names = JsonValue::list(std::move(all));
    }
    return ties;
}

}  // namespace vramfit::network
