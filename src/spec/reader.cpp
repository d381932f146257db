// Strict reading of one JSON object: no value is converted silently.
#include "spec/reader.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

using Kind = JsonValue::Kind;

const JsonValue kEmpty = JsonValue::object();

std::string_view name_of(Kind kind) {
    switch (kind) {
        case Kind::null: return "null";
        case Kind::boolean: return "a boolean";
        case Kind::integer: return "an integer";
        case Kind::real: return "a fraction";
        case Kind::text: return "a text";
        case Kind::list: return "a list";
        case Kind::object: return "an object";
    }
    return "";
}

/// What to write in place of a value of that kind.
std::string way_out_of(Kind kind, std::string_view wanted) {
    if (kind == Kind::null) return "leave the key out for its default";
    const bool plain = wanted == "an integer" || wanted == "a number" || wanted == "true or false";
    if (kind == Kind::text && plain) return fmt::format("write {} without quotes", wanted);
    return fmt::format("write {}, or leave the key out for its default", wanted);
}

bool is_whole_number(const std::string& digits) { return digits.find_first_not_of("-0123456789") == std::string::npos; }

}  // namespace

ObjectReader::ObjectReader(const JsonValue& value, std::string path, Problems& problems)
    : object_(&value), path_(std::move(path)), problems_(&problems) {
    if (value.kind == Kind::object) return;
    problems_->invalid(path_, fmt::format("an object is wanted, not {}", value.shown()), "write {...}");
    object_ = &kEmpty;
}

std::string ObjectReader::path(std::string_view key) const { return fmt::format("{}/{}", path_, key); }

const JsonValue* ObjectReader::find(std::string_view key, Null null) {
    asked_.push_back(key);
    const JsonValue* found = object_->find(key);
    return found && found->kind == Kind::null && null == Null::absent ? nullptr : found;
}

const JsonValue* ObjectReader::value(std::string_view key) { return find(key, Null::refused); }

void ObjectReader::refuse_type(const std::string& path, const JsonValue& value, std::string_view wanted) {
    const bool named = value.kind == Kind::list || value.kind == Kind::object || value.kind == Kind::null;
    const std::string kind = named ? "" : fmt::format(", which is {}", name_of(value.kind));
    problems_->invalid(path, fmt::format("{} is wanted, not {}{}", wanted, value.shown(), kind),
                       way_out_of(value.kind, wanted));
}

void ObjectReader::refuse_word(std::string_view key, const std::string& word,
                               const std::vector<std::string_view>& names) {
    problems_->invalid(path(key), fmt::format("unknown value '{}'", word),
                       did_you_mean(word, names, fmt::format("known: {}", fmt::join(names, ", "))));
}

std::optional<std::int64_t> ObjectReader::integer_of(const JsonValue& value, const std::string& path,
                                                     IntegerRange range) {
    if (value.kind == Kind::real && is_whole_number(value.text)) {
        problems_->invalid(path, fmt::format("{} is beyond 64 bits", value.shown()),
                           "write the size that the network or the run has");
        return std::nullopt;
    }
    if (value.kind != Kind::integer) {
        refuse_type(path, value, "an integer");
        return std::nullopt;
    }
    if (value.integer < range.low || value.integer > range.high) {
        const bool open = range.high == IntegerRange{}.high;
        problems_->invalid(path,
                           open ? fmt::format("{} is below {}", value.integer, range.low)
                                : fmt::format("{} is not between {} and {}", value.integer, range.low, range.high),
                           "correct it, or leave the key out for its default");
        return std::nullopt;
    }
    return value.integer;
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key, IntegerRange range, Null null) {
    const JsonValue* found = find(key, null);
    return found ? integer_of(*found, path(key), range) : std::nullopt;
}

std::optional<double> ObjectReader::real(std::string_view key, RealRange range, Null null) {
    const JsonValue* found = find(key, null);
    if (!found) return std::nullopt;
    if (found->kind != Kind::integer && found->kind != Kind::real) {
        refuse_type(path(key), *found, "a number");
        return std::nullopt;
    }
    if (!(found->real >= range.low && found->real <= range.high)) {
        const bool open = range.high == RealRange{}.high;
        problems_->invalid(path(key),
                           open ? fmt::format("{} is below {}", found->shown(), range.low)
                                : fmt::format("{} is not between {} and {}", found->shown(), range.low, range.high),
                           "correct it, or leave the key out for its default");
        return std::nullopt;
    }
    return found->real;
}

std::optional<bool> ObjectReader::boolean(std::string_view key, Null null) {
    const JsonValue* found = find(key, null);
    if (!found) return std::nullopt;
    if (found->kind == Kind::boolean) return found->boolean;
    refuse_type(path(key), *found, "true or false");
    return std::nullopt;
}

std::optional<std::string> ObjectReader::text(std::string_view key, Null null) {
    const JsonValue* found = find(key, null);
    if (!found) return std::nullopt;
    if (found->kind == Kind::text) return found->text;
    refuse_type(path(key), *found, "a text");
    return std::nullopt;
}

std::optional<std::vector<std::string>> ObjectReader::texts(std::string_view key, Null null) {
    const JsonValue* found = find(key, null);
    if (!found) return std::nullopt;
    const bool fits = found->kind == Kind::list && std::all_of(found->items.begin(), found->items.end(),
                                                               [](const JsonValue& v) { return v.kind == Kind::text; });
    if (!fits) {
        if (found->kind == Kind::list)
            problems_->invalid(path(key), "a list of texts is wanted; something else is in it", "write [\"a\", \"b\"]");
        else
            refuse_type(path(key), *found, "a list of texts");
        return std::nullopt;
    }
    std::vector<std::string> texts;
    for (const JsonValue& item : found->items) texts.push_back(item.text);
    return texts;
}

std::optional<std::vector<std::int64_t>> ObjectReader::integers(std::string_view key, IntegerRange range, Null null) {
    const JsonValue* found = find(key, null);
    if (!found) return std::nullopt;
    if (found->kind != Kind::list) {
        refuse_type(path(key), *found, "a list of integers");
        return std::nullopt;
    }
    std::vector<std::int64_t> integers;
    for (std::size_t i = 0; i < found->items.size(); ++i) {
        if (const auto integer = integer_of(found->items[i], fmt::format("{}/{}", path(key), i), range))
            integers.push_back(*integer);
    }
    return integers;
}

std::optional<ObjectReader> ObjectReader::object(std::string_view key, Null null) {
    const JsonValue* found = find(key, null);
    if (!found) return std::nullopt;
    if (found->kind == Kind::object) return ObjectReader(*found, path(key), *problems_);
    refuse_type(path(key), *found, "an object");
    return std::nullopt;
}

void ObjectReader::refuse_unknown() {
    for (const std::string& key : object_->keys) {
        if (problems_->full()) return;
        if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
        problems_->invalid(path(key), fmt::format("unknown key '{}'", key),
                           did_you_mean(key, asked_, fmt::format("known here: {}", fmt::join(asked_, ", "))));
    }
}

void ObjectReader::refuse_misspelt() {
    std::vector<std::string_view> absent;
    std::copy_if(asked_.begin(), asked_.end(), std::back_inserter(absent), [&](auto key) { return !has(key); });
    for (const std::string& key : object_->keys) {
        if (problems_->full()) return;
        if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
        const auto meant =
            std::find_if(absent.begin(), absent.end(), [&](auto known) { return is_misspelt(key, known); });
        if (meant != absent.end())
            problems_->invalid(path(key), fmt::format("unknown key '{}'", key),
                               fmt::format("did you mean '{}'?", *meant));
    }
}

}  // namespace vramfit
