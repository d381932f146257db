// Keys that no table names, with the one that was probably meant.
#include "trainers/unknown_keys.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::trainers {

namespace {

/// `inner` is `outer` or stands below it.
bool is_within(std::string_view inner, std::string_view outer) {
    return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '.');
}

/// In the file, or in the table: as a row, below one or above one.
bool is_key_of(const Recognised& each, std::string_view key) {
    if (each.document.root.at(key)) return true;
    return std::any_of(each.format->keys.begin(), each.format->keys.end(), [&](const auto table) {
        return std::any_of(table.begin(), table.end(), [&](const KeyRow& row) {
            const std::string_view name = row.key.substr(0, row.key.find(".*"));
            return row.key == "*" || is_within(key, name) || is_within(name, key);
        });
    });
}

void add_keys(const Value& map, const std::string& above, std::vector<std::string>& out) {
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
        out.push_back(above + map.keys[i]);
        add_keys(map.items[i], out.back() + ".", out);
    }
}

[[noreturn]] void refuse_key(const char* flag, const std::string& key, std::span<const Recognised> all) {
    std::vector<std::string> own;
    std::vector<std::string_view> known;
    std::string trainers;
    for (const Recognised& each : all) {
        add_keys(each.document.root, "", own);
        for (const auto table : each.format->keys)
            for (const KeyRow& row : table)
                if (!row.key.ends_with('*')) known.push_back(row.key);
        trainers += (trainers.empty() ? "" : " or ") + std::string(each.format->title);
    }
    known.insert(known.end(), own.begin(), own.end());
    throw Error(ErrorKind::invalid, flag, fmt::format("'{}' is no key of {}", key, trainers),
                did_you_mean(key, known, "a key as it is written in the file; keys of a map after a dot"));
}

}  // namespace

std::vector<std::string> named_by_values(const Value& root) {
    std::vector<std::string> names;
    std::string_view rest = root.kind == Value::Kind::text ? std::string_view(root.text) : std::string_view();
    for (std::size_t begin = rest.find("${"); begin != rest.npos; begin = rest.find("${")) {
        rest.remove_prefix(begin + 2);
        names.emplace_back(rest.substr(0, rest.find('}')));
    }
    for (const Value& item : root.items)
        for (std::string& name : named_by_values(item)) names.push_back(std::move(name));
    return names;
}

std::string_view releases_of(const Recognised& each) {
    const bool script = each.document.program.ends_with(".py") || !each.document.launcher.empty();
    const bool strict = each.format->releases && !script && each.document.syntax != Syntax::python;
    const bool ours = !each.format->is_of_release || each.format->is_of_release(each.document);
    return strict && ours ? std::string_view(each.format->releases) : std::string_view();
}

void check_keys_of_flags(const TrainerQuestion& question, const std::vector<Recognised>& all) {
    for (const TrainerEdit& edit : question.edits)
        if (!is_key_of(all.front(), edit.key)) refuse_key("--set", edit.key, std::span(all).first(1));
    for (const std::string& key : question.assume_off)
        if (std::none_of(all.begin(), all.end(), [&](const Recognised& each) { return is_key_of(each, key); }))
            refuse_key("--assume-off", key, all);
}

}  // namespace vramfit::trainers
