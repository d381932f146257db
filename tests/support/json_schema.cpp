// Validates values, with every error and its place.
#include "support/json_schema.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include <fmt/format.h>

namespace vramfit::test {

using nlohmann::json;

namespace {

bool is_of_type(const json& value, const std::string& type) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    return type == "null" && value.is_null();
}

class Validator {
  public:
    std::vector<std::string> errors;

    void validate(const json& value, const json& schema, const std::string& path) {
        if (schema.is_boolean()) return;  // additionalProperties: true
        if (schema.contains("$ref")) return validate(value, referred(schema["$ref"].get<std::string>()), path);
        if (schema.contains("anyOf")) validate_any(value, schema["anyOf"], path);
        if (schema.contains("const") && value != schema["const"]) complain(path, value, "is another constant");
        if (schema.contains("enum") &&
            std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
            complain(path, value, "is none of the enum");
        if (schema.contains("type")) validate_type(value, schema["type"], path);
        if (schema.contains("minimum") && value.is_number() && value < schema["minimum"])
            complain(path, value, "is below the minimum");
        if (value.is_object()) validate_members(value, schema, path);
        if (value.is_array() && schema.contains("items"))
            for (const json& item : value) validate(item, schema["items"], fmt::format("{}/-", path));
    }

  private:
    void complain(const std::string& path, const json& value, const std::string& what) {
        errors.push_back(fmt::format("{}: {} {}", path, value.dump().substr(0, 80), what));
    }

    static json referred(const std::string& file) {
        const std::string end = ".schema.json";
        if (!file.ends_with(end)) throw std::runtime_error(fmt::format("$ref {} is no schema's file", file));
        return schema_of(file.substr(0, file.size() - end.size()));
    }

    void validate_any(const json& value, const json& schemas, const std::string& path) {
        std::vector<std::string> last;
        for (const json& schema : schemas) {
            Validator one;
            one.validate(value, schema, path);
            if (one.errors.empty()) return;
            last = std::move(one.errors);
        }
        errors.insert(errors.end(), last.begin(), last.end());
    }

    void validate_type(const json& value, const json& type, const std::string& path) {
        const json types = type.is_array() ? type : json::array({type});
        if (std::none_of(types.begin(), types.end(),
                         [&](const json& each) { return is_of_type(value, each.get<std::string>()); }))
            complain(path, value, fmt::format("is not of type {}", type.dump()));
    }

    void validate_members(const json& value, const json& schema, const std::string& path) {
        for (const json& key : schema.value("required", json::array()))
            if (!value.contains(key.get<std::string>())) complain(path, key, "is missing");
        const json properties = schema.value("properties", json::object());
        for (const auto& [key, member] : value.items()) {
            const std::string place = fmt::format("{}/{}", path, key);
            if (properties.contains(key))
                validate(member, properties[key], place);
            else if (schema.contains("additionalProperties"))
                validate(member, schema["additionalProperties"], place);
            else if (!properties.empty())
                complain(place, member, "is not in the schema");
        }
    }
};

}  // namespace

json schema_of(const std::string& name) {
    std::ifstream file(fmt::format(VRAMFIT_SOURCE_DIR "/docs/reference/{}.schema.json", name));
    if (!file) throw std::runtime_error(fmt::format("docs/reference/{}.schema.json is missing", name));
    return json::parse(file);
}

std::vector<std::string> schema_errors(const json& value, const json& schema) {
    Validator validator;
    validator.validate(value, schema, "");
    return validator.errors;
}

}  // namespace vramfit::test
