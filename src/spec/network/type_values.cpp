// Values of instructions under other numbers, and JSON values that are the same.
#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "spec/network/type.hpp"

namespace vramfit::network {

namespace {

struct Renumbering {
    std::int64_t by;
    std::int64_t first;

    std::int64_t number(std::int64_t n) const { return n >= first && n < (std::int64_t{1} << 31) ? n + by : n; }

    void integer(JsonValue& value) const {
        if (value.kind == JsonKind::integer) value = JsonValue::of(number(value.integer));
    }

    /// "%3" and "!%3".
    void text(JsonValue& value) const {
        const std::size_t at = value.text.starts_with('!') ? 1 : 0;
        if (value.text.size() < at + 2 || value.text[at] != '%') return;
        std::int64_t n = 0;
        const char* const begin = value.text.data() + at + 1;
        const char* const end = value.text.data() + value.text.size();
        const auto [rest, error] = std::from_chars(begin, end, n);
        if (error != std::errc() || rest != end || n < first) return;
        value.text.replace(at + 1, std::string::npos, std::to_string(number(n)));
    }

    void inside(JsonValue& value) const {
        if (value.kind == JsonKind::text) text(value);
        for (JsonValue& item : value.items) inside(item);
    }

    void numbers(JsonValue& list) const {
        for (JsonValue& item : list.items) integer(item);
    }
};

std::size_t mixed(std::size_t seed, std::size_t hash) {
    return seed ^ (hash + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2));
}

}  // namespace

void renumber(JsonValue& row, std::int64_t by, std::int64_t first) {
    if (by == 0 || row.kind != JsonKind::list || row.items.empty() || row.items[0].kind != JsonKind::text) return;
    const Renumbering mover{by, first};
    const std::string& what = row.items[0].text;
    if (what == "if") return;
    if (what == "end") {
        for (JsonValue& item : row.items) mover.numbers(item);
    } else if (what == "call") {
        for (std::size_t i = 2; i < row.items.size() && i < 5; ++i) mover.inside(row.items[i]);
        if (row.items.size() > 4)
            for (JsonValue& result : row.items[4].items)
                if (!result.items.empty()) mover.integer(result.items[0]);
    } else if (what == "module" || what == "function" || what == "checkpoint") {
        for (std::size_t i = 3; i < row.items.size() && i < 5; ++i) mover.numbers(row.items[i]);
    } else {
        mover.inside(row);  // an output
    }
}

std::size_t hash_of(const JsonValue& value) {
    std::size_t seed = mixed(static_cast<std::size_t>(value.kind), value.items.size());
    switch (value.kind) {
        case JsonKind::boolean: return mixed(seed, value.boolean ? 1 : 0);
        case JsonKind::integer:
        case JsonKind::real: return mixed(seed, std::hash<double>{}(value.real));
        case JsonKind::text: return mixed(seed, std::hash<std::string>{}(value.text));
        default: break;
    }
    for (const std::string& key : value.keys) seed = mixed(seed, std::hash<std::string>{}(key));
    for (const JsonValue& item : value.items) seed = mixed(seed, hash_of(item));
    return seed;
}

bool same_value(const JsonValue& a, const JsonValue& b) {
    const auto is_number = [](const JsonValue& v) { return v.kind == JsonKind::integer || v.kind == JsonKind::real; };
    if (is_number(a) && is_number(b)) return a.real == b.real;
    if (a.kind != b.kind || a.items.size() != b.items.size() || a.keys != b.keys) return false;
    if (a.kind == JsonKind::boolean) return a.boolean == b.boolean;
    if (a.kind == JsonKind::text) return a.text == b.text;
    return std::equal(a.items.begin(), a.items.end(), b.items.begin(), same_value);
}

std::string name_of_row(const JsonValue& row) {
    std::map<std::string, const JsonValue*> sorted;
    for (std::size_t i = 0; i < row.keys.size(); ++i)
        if (row.keys[i] != "not_fitted") sorted.emplace(row.keys[i], &row.items[i]);
    std::string text = "variant {";
    for (const auto& [key, value] : sorted) {
        if (text.back() != '{') text += ',';
        text += fmt::format("\"{}\":", key);
        if (value->kind == JsonKind::object) {
            text += name_of_row(*value).substr(std::string_view("variant ").size());
        } else {
            text += value->kind == JsonKind::text ? fmt::format("\"{}\"", value->text) : value->shown();
        }
    }
    return text + "}";
}

}  // namespace vramfit::network
