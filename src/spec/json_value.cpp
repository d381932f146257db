// A JSON document as a plain value: making it, looking things up and writing it as text.
#include "spec/json_value.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace vramfit {

JsonValue JsonValue::make(Kind kind) {
    JsonValue made;
    made.kind = kind;
    return made;
}

JsonValue JsonValue::of(bool value) {
    JsonValue made = make(Kind::boolean);
    made.boolean = value;
    return made;
}

JsonValue JsonValue::of(std::int64_t value) {
    JsonValue made = make(Kind::integer);
    made.integer = value;
    made.real = static_cast<double>(value);
    return made;
}

JsonValue JsonValue::of(double value) {
    JsonValue made = make(Kind::real);
    made.real = value;
    made.text = fmt::format("{}", value);  // the shortest digits that read back as the same number
    return made;
}

JsonValue JsonValue::of(std::string_view value) {
    JsonValue made = make(Kind::text);
    made.text = value;
    return made;
}

JsonValue JsonValue::list(std::vector<JsonValue> items) {
    JsonValue made = make(Kind::list);
    made.items = std::move(items);
    return made;
}

JsonValue JsonValue::texts(const std::vector<std::string>& list) {
    std::vector<JsonValue> items;
    for (const std::string& text : list) items.push_back(of(std::string_view(text)));
    return JsonValue::list(std::move(items));
}

JsonValue JsonValue::integers(const std::vector<std::int64_t>& list) {
    std::vector<JsonValue> items;
    for (const std::int64_t number : list) items.push_back(of(number));
    return JsonValue::list(std::move(items));
}

JsonValue& JsonValue::put(std::string_view key, JsonValue value) {
    keys.emplace_back(key);
    items.push_back(std::move(value));
    return *this;
}

const JsonValue* JsonValue::find(std::string_view key) const {
    const auto found = std::find(keys.begin(), keys.end(), key);
    return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

namespace {

void write_text(std::string_view text, std::string& out) {
    out += '"';
    for (const char c : text) {
        switch (c) {
            case '"': out += "\\\""; break;
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\t': out += "\\t"; break;
            case '\r': out += "\\r"; break;
            default:
                if (static_cast<unsigned char>(c) < 0x20)
                    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
                else
                    out += c;
        }
    }
    out += '"';
}

bool is_nested(const JsonValue& value) {
    return value.kind == JsonValue::Kind::list || value.kind == JsonValue::Kind::object;
}

void write(const JsonValue& value, int indent, std::string& out);

// Lists of plain values stay on one line; everything else gets a line for each member.
void write_nested(const JsonValue& value, int indent, std::string& out) {
    const bool object = value.kind == JsonValue::Kind::object;
    const bool one_line = !object && std::none_of(value.items.begin(), value.items.end(), is_nested);
    out += object ? '{' : '[';
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (i > 0) out += one_line ? ", " : ",";
        if (!one_line) fmt::format_to(std::back_inserter(out), "\n{:{}}", "", 2 * (indent + 1));
        if (object) {
            write_text(value.keys[i], out);
            out += ": ";
        }
        write(value.items[i], indent + 1, out);
    }
    if (!one_line && !value.items.empty()) fmt::format_to(std::back_inserter(out), "\n{:{}}", "", 2 * indent);
    out += object ? '}' : ']';
}

void write(const JsonValue& value, int indent, std::string& out) {
    switch (value.kind) {
        case JsonValue::Kind::null: out += "null"; break;
        case JsonValue::Kind::boolean: out += value.boolean ? "true" : "false"; break;
        case JsonValue::Kind::integer: fmt::format_to(std::back_inserter(out), "{}", value.integer); break;
        case JsonValue::Kind::real: out += value.text; break;
        case JsonValue::Kind::text: write_text(value.text, out); break;
        case JsonValue::Kind::list:
        case JsonValue::Kind::object: write_nested(value, indent, out); break;
    }
}

}  // namespace

std::string JsonValue::shown() const {
    if (kind == Kind::list) return "a list";
    if (kind == Kind::object) return "an object";
    std::string out;
    write(*this, 0, out);
    return printable(out, 60);
}

std::string to_text(const JsonValue& value) {
    std::string out;
    write(value, 0, out);
    out += '\n';
    return out;
}

}  // namespace vramfit
