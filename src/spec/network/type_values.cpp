// Values of instructions under other numbers, and JSON values that are the same.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "spec/network/type.hpp"

namespace vramfit::network {

namespace {

struct Renumbering {
    std::int64_t by;
    std::int64_t first;

    std::int64_t number(std::int64_t n) const { return n >= first && n < (std::int64_t{1} << 31) ? n + by : n; }

    /// "%3" and "!%3".
    JsonValue text(const JsonValue& value) const {
        const std::size_t at = value.text.starts_with('!') ? 1 : 0;
        if (value.text.size() < at + 2 || value.text[at] != '%') return value;
        std::int64_t n = 0;
        const char* const begin = value.text.data() + at + 1;
        const char* const end = value.text.data() + value.text.size();
        const auto [rest, error] = std::from_chars(begin, end, n);
        if (error != std::errc() || rest != end || n < 0) return value;
        return JsonValue::of(std::string_view(fmt::format("{}{}", value.text.substr(0, at + 1), number(n))));
    }

    JsonValue inside(const JsonValue& value) const {
        if (value.kind == JsonKind::text) return text(value);
        JsonValue made = value;
        for (JsonValue& item : made.items) item = inside(item);
        return made;
    }

    JsonValue numbers(JsonValue list) const {
        for (JsonValue& item : list.items)
            if (item.kind == JsonKind::integer) item = JsonValue::of(number(item.integer));
        return list;
    }
};

}  // namespace

JsonValue moved(const JsonValue& row, std::int64_t by, std::int64_t first) {
    if (by == 0 || row.kind != JsonKind::list || row.items.empty() || row.items[0].kind != JsonKind::text) return row;
    const Renumbering mover{by, first};
    const std::string& what = row.items[0].text;
    if (what == "if") return row;
    JsonValue made = row;
    if (what == "end") {
        for (JsonValue& item : made.items) item = mover.numbers(std::move(item));
    } else if (what == "call") {
        for (std::size_t i = 2; i < made.items.size() && i < 4; ++i) made.items[i] = mover.inside(made.items[i]);
        if (made.items.size() > 4)
            for (JsonValue& result : made.items[4].items) {
                JsonValue all = mover.inside(result);
                if (!all.items.empty() && all.items[0].kind == JsonKind::integer)
                    all.items[0] = JsonValue::of(mover.number(all.items[0].integer));
                result = std::move(all);
            }
    } else if (what == "module" || what == "function" || what == "checkpoint") {
        for (std::size_t i = 3; i < made.items.size() && i < 5; ++i) made.items[i] = mover.numbers(made.items[i]);
    } else {
        made = mover.inside(row);  // an output
    }
    return made;
}

bool same_value(const JsonValue& a, const JsonValue& b) {
    const auto is_number = [](const JsonValue& v) { return v.kind == JsonKind::integer || v.kind == JsonKind::real; };
    if (is_number(a) && is_number(b)) return a.real == b.real;
    if (a.kind != b.kind || a.items.size() != b.items.size() || a.keys != b.keys) return false;
    if (a.kind == JsonKind::boolean) return a.boolean == b.boolean;
    if (a.kind == JsonKind::text) return a.text == b.text;
    return std::equal(a.items.begin(), a.items.end(), b.items.begin(), same_value);
}

}  // namespace vramfit::network
