// Types of networks that are part of the program, and the network of a config.json of one of them.
#include "spec/network/type.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/lzma.hpp"
#include "spec/embedded.hpp"
#include "spec/json_parse.hpp"
#include "spec/network/model.hpp"

namespace vramfit::network {

namespace {

constexpr std::string_view kTypeSchema = "vramfit.network-type/1";

/// Whether the class has the key, whatever a config.json says.
bool reads_key(const Place& type, std::string_view key) {
    const Place rows = type.member("keys");
    for (std::size_t i = 0; i < rows.list().size(); ++i)
        if (rows.at(i).member("key").text() == key) return !rows.at(i).has("absent");
    return false;
}

/// Parts without which the class makes another network.
void check_parts(const Place& type, const JsonValue& config, const std::string& path, Problems& problems) {
    if (!type.has("given_parts")) return;
    const Place parts = type.member("given_parts");
    for (std::size_t i = 0; i < parts.list(0, 10).size(); ++i) {
        const std::string& part = parts.at(i).text();
        const JsonValue* found = config.find(part);
        if (!found || found->kind != JsonKind::object)
            problems.unsupported(fmt::format("{}/{}", path, part), "networks without this part were not recorded",
                                 std::string(kOwnRecording));
    }
}

JsonValue read_document(const TypeRecording& type) {
    Problems problems("the recording of a type");
    JsonValue json = parse_json(type.text(), problems);
    problems.throw_if_any();
    return json;
}

}  // namespace

JsonValue in_one_level(const Place& type, const JsonValue& config) {
    if (!type.has("parts")) return config;
    const JsonValue& parts = type.member("parts").object().json();
    JsonValue out = JsonValue::object();
    const auto put_all = [&](const JsonValue& from, const std::string& prefix, bool beside) {
        for (std::size_t i = 0; i < from.keys.size(); ++i)
            if (!beside || !parts.find(from.keys[i])) out.put(prefix + from.keys[i], from.items[i]);
    };
    for (std::size_t i = 0; i < parts.keys.size(); ++i) {
        const std::string& prefix = type.member("parts").member(parts.keys[i]).text();
        if (parts.keys[i].empty())
            put_all(config, prefix, true);
        else if (const JsonValue* part = config.find(parts.keys[i]); part && part->kind == JsonKind::object)
            put_all(*part, prefix, false);
    }
    return out;
}

std::string place_in_parts(const Place& type, std::string_view key) {
    if (!type.has("parts")) return std::string(key);
    const JsonValue& parts = type.member("parts").object().json();
    std::string part, prefix;
    for (std::size_t i = 0; i < parts.keys.size(); ++i) {
        const std::string& before = type.member("parts").member(parts.keys[i]).text();
        if (key.starts_with(before) && (before.size() > prefix.size() || (before.empty() && prefix.empty()))) {
            part = parts.keys[i];
            prefix = before;
        }
    }
    return fmt::format("{}{}{}", part, part.empty() ? "" : "/", key.substr(prefix.size()));
}

std::string TypeConfig::of_piece(std::string formula) const {
    constexpr std::string_view kWidth = "hidden_size//num_attention_heads";
    if (!width_of_heads) return formula;
    for (std::size_t at = formula.find(kWidth); at != formula.npos; at = formula.find(kWidth, at))
        formula.replace(at, kWidth.size(), fmt::format("{}", *width_of_heads));
    return formula;
}

namespace {

/// The width of a head that is a quotient stays that of the whole.
void cut_numbers(TypeConfig& config, const Piece& piece) {
    const auto width = config.numbers.find("hidden_size"), heads = config.numbers.find("num_attention_heads");
    if (width != config.numbers.end() && heads != config.numbers.end())
        config.width_of_heads = width->second / heads->second;
    for (const std::string& key : piece.keys) {
        const auto number = config.numbers.find(key);
        if (number == config.numbers.end()) continue;
        if (number->second % piece.pieces != 0)
            throw Error(ErrorKind::invalid, "distributed.world_size",
                        fmt::format("torch stops in the first forward: {} ({}) cannot be cut into {} pieces", key,
                                    number->second, piece.pieces),
                        "a number of processes that divides it");
        number->second /= piece.pieces;
    }
}

}  // namespace

Document instantiate(std::string_view text, const JsonValue& config, const std::string& path, const std::string& file) {
    Problems problems(file);
    const JsonValue type = parse_json(text, problems);
    problems.throw_if_any();
    return instantiate(type, config, path, file);
}

Document instantiate(const JsonValue& type, const JsonValue& config, const std::string& path, const std::string& file,
                     const Piece& piece) {
    Problems problems(file);
    const Place place(type, file);
    if (place.object().member("schema").text() != kTypeSchema)
        place.member("schema").refuse(fmt::format("'{}' is wanted", kTypeSchema));
    check_parts(place, config, path, problems);
    const JsonValue keys = in_one_level(place, config);
    TypeConfig read = read_type_config(place, keys, path, problems);
    problems.throw_if_any();
    if (piece.pieces > 1) cut_numbers(read, piece);
    Document document = read_network(network_of(place, read, keys), file);
    document.of_type = true;
    document.returns_router_logits |= reads_key(place, "output_router_logits");
    if (place.has("same")) document.same_releases = place.member("same").object().json().keys;
    JsonValue given = JsonValue::object();
    for (std::size_t i = 0; i < config.keys.size(); ++i)
        if (config.keys[i] != "_name_or_path") given.put(config.keys[i], config.items[i]);
    document.given = to_text(given);
    return document;
}

std::string TypeRecording::text() const { return unpacked_lzma(packed, begin + size).substr(begin); }

const JsonValue& TypeRecording::document() const {
    static std::map<const TypeRecording*, const JsonValue> read;  // those that were asked for
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    const auto known = read.find(this);
    if (known != read.end()) return known->second;
    return read.emplace(this, read_document(*this)).first->second;
}

ModelSpec model_of(const TypeRecording& type, const JsonValue& config, const std::string& path, const std::string& file,
                   std::string_view name) {
    return model_of(std::make_shared<const Document>(instantiate(type.document(), config, path, file)), name);
}

const BuiltInType* built_in_type(std::string_view model_type) {
    for (const BuiltInType& type : built_in_types())
        if (type.model_type == model_type) return &type;
    return nullptr;
}

const BuiltInType* built_in_type_of(const JsonValue& config) {
    const auto type_in = [](const JsonValue* value) {
        const bool is_map = value && value->kind == JsonValue::Kind::object;
        const JsonValue* type = is_map ? value->find("model_type") : nullptr;
        return type && type->kind == JsonValue::Kind::text ? type->text : std::string();
    };
    const std::string name = type_in(&config);
    if (name.empty()) return nullptr;
    const BuiltInType* of_text = built_in_type(fmt::format("{}_{}", name, type_in(config.find("text_config"))));
    return of_text ? of_text : built_in_type(name);
}

}  // namespace vramfit::network
