// The part of JSON Schema that docs/reference/*.schema.json use.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace vramfit::test {

/// The schema of a document's name: "check" is docs/reference/check.schema.json.
nlohmann::json schema_of(const std::string& name);

/// What is wrong, a line each with its place; empty: the value is as the schema says. Stricter than JSON Schema in one
/// place: an object whose properties are listed has no others, so that a new key cannot be forgotten in the schema.
std::vector<std::string> schema_errors(const nlohmann::json& value, const nlohmann::json& schema);

}  // namespace vramfit::test
