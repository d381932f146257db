// Typed values of a trainer's file, strict and with their source.
#include "trainers/reader.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "trainers/key_rows.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::trainers {

namespace {

using Kind = Value::Kind;

// What a trainer takes as "not used", and the words that a row of the table adds. Where true is what does nothing,
// false does something.
bool does_nothing(const Value& value, std::string_view words) {
    if (words == "true" && value.kind == Kind::boolean) return value.boolean;
    switch (value.kind) {
        case Kind::null: return true;
        case Kind::boolean:
            if (!value.boolean) return true;
            break;
        case Kind::integer:
        case Kind::real:
            if (value.real == 0) return true;
            break;
        case Kind::text:
            if (value.text.empty() || value.text == "no" || value.text == "none" || value.text == "None" ||
                value.text == "False" || value.text == "false")
                return true;
            break;
        case Kind::list:
        case Kind::map: return value.items.empty();
        case Kind::unread: return false;
    }
    while (!words.empty()) {
        const std::string_view word = words.substr(0, words.find('|'));
        if (word == value.text) return true;
        words.remove_prefix(std::min(words.size(), word.size() + 1));
    }
    return false;
}

bool is_null(const Value& value) {
    return value.kind == Kind::null || (value.kind == Kind::text && !value.quoted && value.text == "None");
}

}  // namespace

Reader::Reader(const Document& document, std::span<const std::span<const KeyRow>> keys, const TrainerQuestion& question,
               Reading& reading, Problems& problems)
    : document_(&document), keys_(keys), question_(&question), reading_(&reading), problems_(&problems) {}

const Value* Reader::value(std::string_view key) {
    asked_.emplace(key);
    const Value* found = document_->root.at(key);
    // Nobody knows what is in a map that a script computes.
    for (std::string_view above = key; !found && above.find('.') != std::string_view::npos;) {
        above = above.substr(0, above.rfind('.'));
        const Value* map = document_->root.at(above);
        if (map && map->kind == Kind::unread) found = map;
    }
    return found && !is_null(*found) ? found : nullptr;
}

FilePlace Reader::place(std::string_view key) const {
    std::string_view path = key;
    while (true) {
        const Value* value = document_->root.at(path);
        if (value && !value->file.empty()) return {value->file, value->place};
        const Place at = document_->root.place_of(path);
        const std::size_t dot = path.rfind('.');
        if (at.line > 0 || dot == std::string_view::npos) return {document_->file, at};
        path = path.substr(0, dot);
    }
}

void Reader::took(std::string_view key, const Value& value) {
    const KeyRow* row = row_of(key);
    if (!row || row->use != KeyUse::used) return;
    for (const Input& input : reading_->inputs)
        if (input.key == key && input.place.file == document_->file) return;
    reading_->inputs.push_back(
        {std::string(row->says), written(value), InputSource::file, std::string(key), place(key)});
}

void Reader::ask(std::string_view key, const Value& unread) {
    invalid(key, fmt::format("its value cannot be read: {}", unread.text),
            fmt::format("nothing is run to find it: say it with --set {}=VALUE", key));
}

void Reader::wrong_type(std::string_view key, const Value& value, std::string_view wanted) {
    if (value.kind == Kind::unread) return ask(key, value);
    invalid(key, fmt::format("{} is wanted, not {}", wanted, value.shown()));
}

// pydantic and HfArgumentParser both take texts that hold a number, and 8.0 for 8.
std::optional<std::int64_t> Reader::integer(std::string_view key, Range range) {
    const Value* found = value(key);
    if (!found) return std::nullopt;
    Value number = *found;
    if (number.kind == Kind::text) number = plain_scalar(number.text, place(key));
    const bool whole =
        number.kind == Kind::real && number.real == std::floor(number.real) && std::abs(number.real) < 1e15;
    if (whole) number.integer = static_cast<std::int64_t>(number.real);
    if (number.kind != Kind::integer && !whole) return wrong_type(key, *found, "a whole number"), std::nullopt;
    if (number.integer < range.low || number.integer > range.high) {
        invalid(key, fmt::format("{} is not between {} and {}", number.integer, range.low, range.high));
        return std::nullopt;
    }
    if (found->kind != Kind::integer)
        note(RemarkKind::odd_value, fmt::format("{} is {}, taken as {}", key, found->shown(), number.integer),
             "write it as a whole number");
    took(key, *found);
    return number.integer;
}

std::optional<double> Reader::real(std::string_view key, double low) {
    const Value* found = value(key);
    if (!found) return std::nullopt;
    Value number = *found;
    if (number.kind == Kind::text) number = plain_scalar(number.text, place(key));
    if (number.kind != Kind::integer && number.kind != Kind::real)
        return wrong_type(key, *found, "a number"), std::nullopt;
    if (number.real < low) {
        invalid(key, fmt::format("{} is below {}", number.text, low));
        return std::nullopt;
    }
    took(key, *found);
    return number.real;
}

std::optional<bool> Reader::boolean(std::string_view key) {
    const Value* found = value(key);
    if (!found) return std::nullopt;
    Value truth = *found;
    if (truth.kind == Kind::text) truth = plain_scalar(truth.text, place(key));
    if (truth.kind == Kind::integer && (truth.integer == 0 || truth.integer == 1)) {
        truth.kind = Kind::boolean;
        truth.boolean = truth.integer == 1;
    }
    if (truth.kind != Kind::boolean) return wrong_type(key, *found, "true or false"), std::nullopt;
    took(key, *found);
    return truth.boolean;
}

std::optional<std::string> Reader::text(std::string_view key) {
    const Value* found = value(key);
    if (!found) return std::nullopt;
    if (!found->is_scalar() || found->kind == Kind::unread) return wrong_type(key, *found, "a text"), std::nullopt;
    took(key, *found);
    return found->text;
}

std::optional<std::vector<std::string>> Reader::texts(std::string_view key) {
    const Value* found = value(key);
    if (!found) return std::nullopt;
    std::vector<std::string> out;
    if (found->kind == Kind::list) {
        for (const Value& item : found->items) {
            if (!item.is_scalar() || item.kind == Kind::unread)
                return wrong_type(key, item, "a list of texts"), std::nullopt;
            out.push_back(item.text);
        }
    } else if (found->kind == Kind::map || found->kind == Kind::unread) {
        return wrong_type(key, *found, "a list of texts"), std::nullopt;
    } else {
        std::string_view rest = found->text;
        while (!rest.empty()) {
            const std::string_view word = rest.substr(0, rest.find_first_of(", "));
            if (!word.empty()) out.emplace_back(word);
            rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        }
    }
    took(key, *found);
    return out;
}

std::int64_t Reader::integer_or(std::string_view key, std::int64_t otherwise, Range range) {
    if (const auto found = integer(key, range)) return *found;
    assume(key, std::to_string(otherwise));
    return otherwise;
}

double Reader::real_or(std::string_view key, double otherwise) {
    if (const auto found = real(key)) return *found;
    assume(key, fmt::format("{}", otherwise));
    return otherwise;
}

bool Reader::boolean_or(std::string_view key, bool otherwise) {
    if (const auto found = boolean(key)) return *found;
    assume(key, otherwise ? "true" : "false");
    return otherwise;
}

std::string Reader::text_or(std::string_view key, std::string_view otherwise) {
    if (auto found = text(key)) return *found;
    assume(key, std::string(otherwise));
    return std::string(otherwise);
}

void Reader::assume(std::string_view key, std::string value) {
    const KeyRow* row = row_of(key);
    if (!row || row->use != KeyUse::used) return;
    for (const Input& input : reading_->inputs)
        if (input.key == key) return;
    reading_->inputs.push_back(
        {std::string(row->says), std::move(value), InputSource::trainer_default, std::string(key), {}});
}

void Reader::derive(std::string_view field, std::string value, std::string why) {
    reading_->inputs.push_back({std::string(field), std::move(value), InputSource::derived, std::move(why), {}});
}

bool Reader::assumed_off(std::string_view key) const {
    const auto& off = question_->assume_off;
    return std::find(off.begin(), off.end(), key) != off.end();
}

void Reader::refuse(std::string_view key, std::string what, std::string hint) {
    if (assumed_off(key)) return;
    for (const Refusal& old : reading_->refusals)
        if (old.key == key && old.place.file == document_->file && old.what == what) return;
    reading_->refusals.push_back({std::string(key), place(key), std::move(what), std::move(hint)});
}

void Reader::invalid(std::string_view key, std::string what, std::string hint) {
    problems_->invalid(fmt::format("{} {}", text_of(place(key)), key), std::move(what), std::move(hint));
}

void Reader::note(RemarkKind kind, std::string text, std::string hint) {
    for (const ReadingNote& old : reading_->notes)
        if (old.kind == kind && old.text == text) return;
    reading_->notes.push_back({kind, std::move(text), std::move(hint), kind == RemarkKind::other_program});
}

const KeyRow* Reader::row_of(std::string_view key) const { return find_row(keys_, key); }

void Reader::judge_unknown(const std::string& path, const UnknownKeys& unknown) {
    if (std::find(unknown.named.begin(), unknown.named.end(), path) != unknown.named.end()) return;
    const std::vector<std::string_view> known = names_in(keys_);
    if (unknown.releases.empty())
        return note(RemarkKind::unknown_key,
                    fmt::format("{}: the key {} is not known and was not looked at", text_of(place(path)), path),
                    did_you_mean(path, known, "if it matters for memory, the prediction does not know"));
    const std::string meant = did_you_mean(path, known);
    invalid(path, fmt::format("unknown key, not in any release of {}", unknown.releases),
            fmt::format("{}{}--assume-off {} reads the file without it", meant, meant.empty() ? "" : "; ", path));
}

void Reader::judge(const std::string& path, const Value& value, const UnknownKeys& unknown) {
    const KeyRow* row = row_of(path);
    if (value.kind == Kind::map && (!row || row->use == KeyUse::used) && has_rows_below(keys_, path)) {
        for (std::size_t i = 0; i < value.items.size(); ++i) judge(path + "." + value.keys[i], value.items[i], unknown);
        return;
    }
    if (value.kind == Kind::unread && path.find('*') != std::string::npos) {
        if (row && row->use == KeyUse::harmless && row->key != "*") return;
        return invalid(path, fmt::format("any argument may be in it: {}", value.text),
                       fmt::format("say with --set what it holds, and leave it out: --assume-off '{}'", path));
    }
    if (!row) {
        if (is_null(value)) return;
        if (!has_rows_below(keys_, path)) return judge_unknown(path, unknown);
        return does_nothing(value, {}) ? void() : wrong_type(path, value, "a map");
    }
    if (row->use == KeyUse::unsupported && value.kind == Kind::unread && !assumed_off(path))
        return invalid(path, fmt::format("its value cannot be read, and it matters: {}", value.text),
                       fmt::format("say it with --set {}=VALUE, or --assume-off {}", path, path));
    if (row->use == KeyUse::unsupported && !is_null(value) && !does_nothing(value, row->other)) {
        refuse(path, fmt::format("{} ({})", row->says, written(value)),
               fmt::format("take the key out, or go on without its effect: --assume-off {}", path));
    }
}

void Reader::judge_keys(const UnknownKeys& unknown) {
    const Value& root = document_->root;
    for (std::size_t i = 0; i < root.keys.size(); ++i) judge(root.keys[i], root.items[i], unknown);
}

}  // namespace vramfit::trainers
