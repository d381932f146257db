// A configuration file as a plain value: finding, changing and showing.
#include "trainers/value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/number_text.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit {

std::string text_of(const FilePlace& place) {
    if (place.at.line == 0) return place.file;
    return fmt::format("{}:{}:{}", place.file, place.at.line, place.at.column);
}

}  // namespace vramfit

namespace vramfit::trainers {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::size_t index_of(const Value& map, std::string_view key) {
    if (map.kind != Value::Kind::map) return kNone;
    for (std::size_t i = 0; i < map.keys.size(); ++i)
        if (map.keys[i] == key) return i;
    return kNone;
}

struct Found {
    const Value* parent = nullptr;
    std::size_t index = kNone;
};

// The longest name at the front of the path goes first: "a.b" may be one key.
Found find_path(const Value& value, std::string_view path) {
    for (std::size_t end = path.size(); end != std::string_view::npos && end > 0; end = path.rfind('.', end - 1)) {
        const std::size_t at = index_of(value, path.substr(0, end));
        if (at == kNone) continue;
        if (end == path.size()) return {&value, at};
        const Found found = find_path(value.items[at], path.substr(end + 1));
        if (found.parent) return found;
    }
    return {};
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

// [-+]?[0-9][0-9_]*, without the underscores.
bool integer_digits(std::string_view text, std::string& digits) {
    for (const char c : text.substr(!text.empty() && (text[0] == '-' || text[0] == '+'))) {
        if (c == '_') continue;
        if (c < '0' || c > '9') return false;
        digits += c;
    }
    return !digits.empty() && text.find_first_of("0123456789") <= 1;
}

bool looks_like_number(std::string_view text) {
    const bool sign = text[0] == '-' || text[0] == '+';
    const std::size_t first = sign ? 1 : 0;
    if (first >= text.size()) return false;
    const bool digit = text[first] >= '0' && text[first] <= '9';
    const bool point =
        text[first] == '.' && first + 1 < text.size() && text[first + 1] >= '0' && text[first + 1] <= '9';
    return digit || point;
}

void read_number(const std::string& text, const FilePlace& place, Value& out) {
    std::string digits;
    if (integer_digits(text, digits)) {
        if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of('0') != std::string::npos)
            throw Error(ErrorKind::invalid, text_of(place),
                        fmt::format("{} is read as octal by YAML 1.1 and as decimal by YAML 1.2", text),
                        "write the number without the 0 at its front");
        std::int64_t number = 0;
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (problem != std::errc{} || end != digits.data() + digits.size()) return;  // too large: stays a text
        out.kind = Value::Kind::integer;
        out.integer = text[0] == '-' ? -number : number;
        out.real = static_cast<double>(out.integer);
        return;
    }
    std::string plain;
    for (const char c : text)
        if (c != '_' && !(plain.empty() && c == '+')) plain += c;
    const std::optional<double> number = real_from(plain);
    if (!number || !std::isfinite(*number)) return;
    out.kind = Value::Kind::real;
    out.real = *number;
}

}  // namespace

const Value* Value::find(std::string_view key) const {
    const std::size_t i = index_of(*this, key);
    return i == kNone ? nullptr : &items[i];
}

Value* Value::find(std::string_view key) {
    const std::size_t i = index_of(*this, key);
    return i == kNone ? nullptr : &items[i];
}

const Value* Value::at(std::string_view path) const {
    const Found found = find_path(*this, path);
    return found.parent ? &found.parent->items[found.index] : nullptr;
}

Place Value::place_of(std::string_view path) const {
    const Found found = find_path(*this, path);
    return found.parent ? found.parent->key_places[found.index] : Place{};
}

bool Value::erase(std::string_view path) {
    const Found found = find_path(*this, path);
    if (!found.parent) return false;
    Value& parent = *const_cast<Value*>(found.parent);  // reached from *this, which is not const
    const auto at = static_cast<std::ptrdiff_t>(found.index);
    parent.keys.erase(parent.keys.begin() + at);
    parent.key_places.erase(parent.key_places.begin() + at);
    parent.items.erase(parent.items.begin() + at);
    return true;
}

void Value::put(std::string_view path, Value value) {
    if (const Found found = find_path(*this, path); found.parent) {
        Value& place_taken = const_cast<Value*>(found.parent)->items[found.index];
        if (value.file.empty()) {
            value.place = place_taken.place;
            value.file = place_taken.file;
        }
        place_taken = std::move(value);
        return;
    }
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) return add(std::string(path), {}, std::move(value));
    Value* inner = find(path.substr(0, dot));
    if (!inner) {
        add(std::string(path.substr(0, dot)), {}, map());
        inner = &items.back();
    } else if (inner->kind != Kind::map) {
        *inner = map(inner->place);
    }
    inner->put(path.substr(dot + 1), std::move(value));
}

void Value::add(std::string key, Place key_place, Value value) {
    keys.push_back(std::move(key));
    key_places.push_back(key_place);
    items.push_back(std::move(value));
}

std::string Value::shown() const {
    switch (kind) {
        case Kind::null: return "nothing";
        case Kind::boolean: return boolean ? "true" : "false";
        case Kind::integer:
        case Kind::real: return text;
        case Kind::text: return fmt::format("'{}'", text.size() > 80 ? text.substr(0, 77) + "..." : text);
        case Kind::list: return "a list";
        case Kind::map: return "a map";
        case Kind::unread: return "something computed";
    }
    return {};
}

Value Value::map(Place place) {
    Value out;
    out.kind = Kind::map;
    out.place = place;
    return out;
}

Value Value::list(Place place) {
    Value out;
    out.kind = Kind::list;
    out.place = place;
    return out;
}

Value Value::of_text(std::string text, Place place) {
    Value out;
    out.kind = Kind::text;
    out.text = std::move(text);
    out.quoted = true;
    out.place = place;
    return out;
}

Value Value::unread(std::string why, Place place) {
    Value out = of_text(std::move(why), place);
    out.kind = Kind::unread;
    return out;
}

// PyYAML 6, resolver.py, Resolver.add_implicit_resolver.
Value plain_scalar(std::string text, const FilePlace& place) {
    Value out;
    out.place = place.at;
    if (one_of(text, {"", "~", "null", "Null", "NULL"})) {
        out.kind = Value::Kind::null;
    } else if (one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) {
        out.kind = Value::Kind::boolean;
        out.boolean = true;
    } else if (one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
        out.kind = Value::Kind::boolean;
    } else {
        out.kind = Value::Kind::text;
        if (looks_like_number(text)) read_number(text, place, out);
    }
    out.text = std::move(text);
    return out;
}

std::string written(const Value& value) {
    switch (value.kind) {
        case Value::Kind::null: return "null";
        case Value::Kind::boolean: return value.boolean ? "true" : "false";
        case Value::Kind::integer:
        case Value::Kind::real:
        case Value::Kind::text: return value.text;
        case Value::Kind::unread: return "?";
        case Value::Kind::list:
        case Value::Kind::map: break;
    }
    std::string out = value.kind == Value::Kind::list ? "[" : "{";
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (out.size() > 60) return out + (i ? ", ..." : "...") + (value.kind == Value::Kind::list ? "]" : "}");
        if (i > 0) out += ", ";
        if (value.kind == Value::Kind::map) out += value.keys[i] + ": ";
        out += written(value.items[i]);
    }
    return out + (value.kind == Value::Kind::list ? "]" : "}");
}

}  // namespace vramfit::trainers
