// Roles of layers that share keys and values, and rotary embeddings of each kind of layer.
#include "spec/network/type_shared.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "spec/listed.hpp"
#include "spec/network/allowed.hpp"
#include "spec/network/type.hpp"

namespace vramfit::network {

// transformers 5.17.0 modeling_gemma4.py Gemma4TextAttention: is_kv_shared_layer, store_full_length_kv; 5.23.0
// configuration_gemma4.py kv_sharing_modes.
std::vector<std::string> with_roles(const std::vector<std::string>& kinds, std::size_t shared, bool where_shared) {
    std::vector<std::string> out;
    const auto first = kinds.end() - static_cast<std::ptrdiff_t>(shared);
    const bool stores = shared > 0 || !where_shared;
    for (auto kind = kinds.begin(); kind != kinds.end(); ++kind) {
        const char* role = kind >= first                                          ? "reuse"
                           : stores && std::find(kind + 1, first, *kind) == first ? "store"
                                                                                  : "own";
        out.push_back(fmt::format("{}+{}", role, *kind));
    }
    return out;
}

// transformers 5.17.0 configuration_gemma3n.py Gemma3nTextConfig.__post_init__: where nothing is said, so many at the
// beginning, if there are more.
bool mark_sparse(const Place& row, const JsonValue* given, std::vector<std::string>& kinds) {
    const bool listed = given && !is_null(*given);
    if (listed && (given->kind != JsonValue::Kind::list || given->items.size() != kinds.size())) return false;
    const auto first = static_cast<std::size_t>(row.member("first").integer(0, 1000));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (listed && (!is_number(given->items[i]) || given->items[i].real < 0)) return false;
        if (listed ? given->items[i].real > 0 : kinds.size() > first && i < first) kinds[i] = "sparse+" + kinds[i];
    }
    return true;
}

const JsonValue* recorded_layers(const Place& known, const std::vector<std::string>& kinds) {
    std::vector<std::string> stores;
    for (const std::string& kind : kinds)
        if (kind.starts_with("store")) stores.push_back(kind);
    if (!stores.empty() && stores != std::vector<std::string>{"store+sliding_attention", "store+full_attention"})
        return nullptr;
    for (std::size_t i = 0; i < known.list().size(); ++i) {
        const Place state = known.at(i);
        const std::size_t count = state.list(3).size();
        std::set<std::string> between;
        for (std::size_t n = 1; n + 1 < count; ++n) between.insert(state.at(n).text());
        const bool all = std::all_of(kinds.begin() + 1, kinds.end() - 1,
                                     [&](const std::string& kind) { return between.contains(kind); });
        if (all && state.at(0).text() == kinds.front() && state.at(count - 1).text() == kinds.back())
            return &state.json();
    }
    return nullptr;
}

namespace {

std::string on_one_line(const JsonValue& value) {
    std::string text = to_text(value);
    std::erase(text, '\n');
    return text;
}

/// The entries that have to be there: those that decide about sizes, and those that the type of embeddings asks for.
std::vector<std::string> needed(const Place& known, const Place& of_type) {
    std::vector<std::string> names{"rope_theta"};
    if (known.has("own"))
        for (const std::string& own : known.member("own").object().json().keys) names.push_back(own);
    if (of_type.has("needs"))
        for (std::string& name : texts_of(of_type.member("needs"))) names.push_back(std::move(name));
    return names;
}

void check_kind(const Place& known, std::string_view kind, const JsonValue& given, const Report& refuse,
                const Report& reject) {
    const std::string key = fmt::format("rope_parameters/{}", kind);
    if (known.has("none")) {
        if (!is_null(given)) refuse(key, "rotary embeddings of such layers were not recorded for this type");
        return;
    }
    if (given.kind != JsonValue::Kind::object) return reject(key, fmt::format("{} cannot be", given.shown()));
    const JsonValue* type = given.find("rope_type");
    const std::string name = type && type->kind == JsonValue::Kind::text ? type->text : std::string();
    const bool is_other = known.has("others") && known.member("others").object().has(name);
    if (!is_other && name != known.member("type").text())
        return refuse(key + "/rope_type", fmt::format("rotary embeddings of type {} were not recorded for this type",
                                                      type ? type->shown() : "null"));
    const Place of_type = is_other ? known.member("others").member(name) : known;
    for (const std::string& entry : needed(known, of_type))
        if (!given.find(entry)) reject(fmt::format("{}/{}", key, entry), "the key is missing");
    const std::vector<std::string> may = texts_of(of_type.member("may"));
    for (std::size_t i = 0; i < given.keys.size(); ++i) {
        if (given.keys[i] == "rope_type") continue;
        if (known.has("own") && known.member("own").object().has(given.keys[i])) {
            const JsonValue& own = known.member("own").member(given.keys[i]).json();
            if (!same_value(given.items[i], own))
                refuse(fmt::format("{}/{}", key, given.keys[i]),
                       fmt::format("{} was not recorded, {} was", on_one_line(given.items[i]), on_one_line(own)));
            continue;
        }
        const JsonValue& value = given.items[i];
        const std::string entry = fmt::format("{}/{}", key, given.keys[i]);
        if (!is_listed(may, given.keys[i]))
            refuse(entry, "the entry was not recorded for this type");
        else if (!is_number(value))
            reject(entry, fmt::format("{} is no number", value.shown()));
        else if (!(value.real > 0))
            refuse(entry, fmt::format("{} was not recorded for this type", value.shown()));
    }
}

}  // namespace

void check_rope_of_kinds(const Place& type, const JsonValue& config, const Report& refuse, const Report& reject) {
    const Place known = type.member("rope_of_kinds").object();
    const auto given = [&](std::string_view key) {
        const JsonValue* value = config.find(key);
        return value && value->kind != JsonValue::Kind::null ? value : nullptr;
    };
    if (given("rope_scaling")) refuse("rope_scaling", "for this type only rope_parameters were recorded");
    const JsonValue* all = given("rope_parameters");
    const std::vector<std::string>& kinds = known.json().keys;
    const bool needed = std::any_of(kinds.begin(), kinds.end(),
                                    [&](const std::string& kind) { return known.member(kind).object().has("none"); });
    if (!all) return needed ? reject("rope_parameters", "the key is missing") : void();
    if (all->kind != JsonValue::Kind::object)
        return reject("rope_parameters", fmt::format("{} cannot be", all->shown()));
    for (const std::string& kind : kinds) {
        const JsonValue* own = all->find(kind);
        if (!own) {
            reject(fmt::format("rope_parameters/{}", kind), "the key is missing");
            continue;
        }
        check_kind(known.member(kind).object(), kind, *own, refuse, reject);
    }
    const auto beside = type.has("rope_beside") ? texts_of(type.member("rope_beside")) : std::vector<std::string>();
    for (const std::string& key : all->keys)
        if (!is_listed(kinds, key) && !is_listed(beside, key))
            refuse(fmt::format("rope_parameters/{}", key), "the entry was not recorded for this type");
}

}  // namespace vramfit::network
