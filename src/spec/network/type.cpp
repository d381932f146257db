// Types of networks that are part of the program, and the network of a config.json of one of them.
#include "spec/network/type.hpp"

#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/inflate.hpp"
#include "spec/embedded.hpp"
#include "spec/json_parse.hpp"

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

JsonValue read_document(const BuiltInType& type) {
    Problems problems(type.model_type);
    JsonValue json = parse_json(type.text(), problems);
    problems.throw_if_any();
    return json;
}

}  // namespace

Document instantiate(std::string_view text, const JsonValue& config, const std::string& path, const std::string& file) {
    Problems problems(file);
    const JsonValue type = parse_json(text, problems);
    problems.throw_if_any();
    return instantiate(type, config, path, file);
}

Document instantiate(const JsonValue& type, const JsonValue& config, const std::string& path, const std::string& file) {
    Problems problems(file);
    const Place place(type, file);
    if (place.object().member("schema").text() != kTypeSchema)
        place.member("schema").refuse(fmt::format("'{}' is wanted", kTypeSchema));
    const TypeConfig read = read_type_config(place, config, path, problems);
    problems.throw_if_any();
    Document document = read_network(network_of(place, read, config), file);
    document.of_type = true;
    document.returns_router_logits |= reads_key(place, "output_router_logits");
    if (place.has("same")) document.same_releases = place.member("same").object().json().keys;
    JsonValue given = JsonValue::object();
    for (std::size_t i = 0; i < config.keys.size(); ++i)
        if (config.keys[i] != "_name_or_path") given.put(config.keys[i], config.items[i]);
    document.given = to_text(given);
    return document;
}

std::string BuiltInType::text() const { return inflated(packed, size); }

const JsonValue& BuiltInType::document() const {
    static std::map<std::string_view, const JsonValue> read;  // by name; those that were asked for
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    const auto known = read.find(model_type);
    if (known != read.end()) return known->second;
    return read.emplace(model_type, read_document(*this)).first->second;
}

// Of all types in turn: none is kept.
TypeFacts facts_of(const BuiltInType& built_in) {
    const JsonValue json = read_document(built_in);
    const Place type(json, built_in.model_type);
    const Place with = type.member("recorded_with"), compared = type.member("compared");
    return {with.member("transformers").text(), with.member("torch").text(),
            compared.member("networks").integer(0, 1'000'000), compared.member("jobs").integer(0, 1'000'000)};
}

const BuiltInType* built_in_type(std::string_view model_type) {
    for (const BuiltInType& type : built_in_types())
        if (type.model_type == model_type) return &type;
    return nullptr;
}

}  // namespace vramfit::network
